// Stands in for the project's classes: no process relays, and the clocks are above.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>
using std::set; using std::string; using std::vector;

struct Target {
    virtual void onMessage(unsigned source, const char* data, unsigned n) {}
    virtual void onMessage(unsigned source, unsigned logical_source, const char* data, unsigned n) {}
};
class Receiver {
    vector<Target*> targets;
protected:
    unsigned this_process;
    void deliverToAll(unsigned source, const char* data, unsigned n) { for (auto* t : targets) t->onMessage(source, data, n); }
public:
    Receiver(unsigned process) : this_process(process) {}
    void addTarget(Target* target) { targets.push_back(target); }
};
struct Sender { Sender(unsigned) {} virtual void send(const char*, unsigned) = 0; };
struct Broadcast : Receiver, Target {
    using Receiver::Receiver;
    virtual void broadcastPublic(const char* data, unsigned n) = 0;
    unsigned me() { return this_process; }
};
struct BestEffortBroadcast : Broadcast {
    vector<Sender*> senders;
    BestEffortBroadcast(unsigned process, vector<Sender*> s, vector<Receiver*> r) : Broadcast(process), senders(s) {
        for (auto* receiver : r) receiver->addTarget(this);
    }
    void onMessage(unsigned source, const char* data, unsigned n) override { deliverToAll(source, data, n); }
    void broadcastPublic(const char* data, unsigned n) override {
        deliverToAll(this_process, data, n);
        for (auto* sender : senders) sender->send(data, n);
    }
};
