// Drives the ISIS total order multicast of nvanbenschoten/total-order-multicast: in place of its main, UDP and threads.
#include <ucontext.h>
#include <list>
#include "udp_conn.h"
#define THREAD_H_ // a thread of theirs is a coroutine here: it runs until it waits for an acknowledgement
struct Task { ucontext_t context; std::function<void()> run; std::string text; int peer; udp::OnReceiveFn acked; };
static std::list<Task> tasks; static Task* now; static ucontext_t outside; static udp::OnReceiveFn receive;
static std::list<std::string> loopback; static int self; // what a process sends to itself arrives at once
static void go(Task& task) { now = &task, task.peer = -1, swapcontext(&outside, &task.context), now = nullptr; }
namespace threadutil { struct ThreadGroup { template <class F> void AddThread(F&& f) {
    Task& task = tasks.back();
    getcontext(&task.context), task.run = f, task.context.uc_link = &outside;
    task.context.uc_stack.ss_sp = new char[1 << 16], task.context.uc_stack.ss_size = 1 << 16;
    makecontext(&task.context, [] { now->run(); }, 0), go(task);
} }; }
namespace std { struct fixed_device { unsigned operator()() { return 1; } }; }
#define random_device fixed_device
#define private public // for LaunchMulticastSender, which their TotalOrder calls at its start
#include "process.cc" // with the same numbers of messages in each run
udp::Socket udp::CreateSocket(std::chrono::microseconds) { return -1; }
udp::SocketAddress::SocketAddress(net::Address peer) : addr_() { addr_.sin_port = peer.port(); }
unsigned short udp::SocketAddress::Port() const { return addr_.sin_port; }
udp::Server::Server(unsigned short, std::chrono::microseconds) : sockfd_(-1) {}
void udp::Server::Listen(OnReceiveFn handler, OnTimeout) const { receive = handler; }
void udp::Client::Send(const char* bytes, size_t n) {
    std::string body = (now ? now->text : "ack") + " ";
    for (char digits[3]; n-- && sprintf(digits, "%02x", (unsigned char)*bytes++); body += digits) {}
    if (remote_address_.Port() == self) loopback.push_back("packet " + std::to_string(self) + " " + body);
    else printf("packet %d %s\n", remote_address_.Port(), body.c_str());
}
void udp::Client::SendWithAck(const char* bytes, size_t n, unsigned, OnReceiveFn acked) {
    now->peer = remote_address_.Port(), now->acked = acked, Send(bytes, n), swapcontext(&now->context, &outside);
}
static void serve(char* line) { // one process, from its init to the next
    std::unordered_map<std::string, std::string> names; // of messages, by sender and number
    process::ProcessList all;
    char a[99], b[99], c[999]; unsigned n, byte;
    for (sscanf(line, "init %s %s", a, b); all.size() < atoi(b);) all.push_back({"", (unsigned short)all.size()});
    process::Process node(all, atoi(a), 0, false);
    node.TotalOrder(0, [&](msg::SeqMessage& m) {
        uint32_t key[] = {htonl(m.sender), htonl(m.msg_id)};
        printf("deliver %s\n", names[std::string((char*)key, sizeof key)].c_str());
    });
    for (tasks.clear(), self = atoi(a);;) {
        if (!loopback.empty()) sprintf(line, "%s", loopback.front().c_str()), loopback.pop_front();
        else if (puts("ok"), fflush(stdout), !fgets(line, 999, stdin)) *line = 0;
        if (!*line || *line == 'i') return;
        if (sscanf(line, "send %s %s", a, b) == 2) tasks.push_back({{}, {}, b}), node.LaunchMulticastSender();
        if (sscanf(line, "packet %s %s %s", a, b, c) != 3) continue;
        for (n = 0; sscanf(c + 2 * n, "%2x", &byte) == 1;) line[n++] = byte;
        if (*b != 'a') names[std::string(line + 4, 8)] = b;
        if (*b != 'a') receive(std::make_shared<udp::Client>(net::Address("", atoi(a))), line, n);
        else for (Task& task : tasks)
            if (task.peer == atoi(a) && task.acked(nullptr, line, n) == udp::ServerAction::Stop) { go(task); break; }
    }
}
int main() { // each in a thread of its own, since their random numbers are of the thread
    for (static char line[999]; *line == 'i' || fgets(line, 999, stdin);) std::thread(serve, line).join();
}
