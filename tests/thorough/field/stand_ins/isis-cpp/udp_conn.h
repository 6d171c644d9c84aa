// Stands in for the multicast's clients and servers.
#pragma once
#include <arpa/inet.h>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
namespace net { struct Address {
    unsigned short number;
    Address(std::string, unsigned short port) : number(port) {}
    unsigned short port() const { return number; }
}; }
namespace udp {
typedef int Socket;
Socket CreateSocket(std::chrono::microseconds);
struct SocketAddress { struct { unsigned short sin_port; } addr_; SocketAddress(net::Address); unsigned short Port() const; };
enum class ServerAction { Continue, Stop };
struct Client;
typedef std::function<ServerAction(std::shared_ptr<Client>, char*, size_t)> OnReceiveFn;
typedef std::function<ServerAction()> OnTimeout;
struct Client {
    SocketAddress remote_address_;
    Client(net::Address address) : remote_address_(address) {}
    void Send(const char*, size_t);
    void SendWithAck(const char*, size_t, unsigned, OnReceiveFn);
};
struct Server {
    int sockfd_;
    Server(unsigned short, std::chrono::microseconds = {});
    void Listen(OnReceiveFn, OnTimeout) const;
};
} // namespace udp
