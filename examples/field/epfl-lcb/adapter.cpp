// Drives the localized causal broadcast of vincentballet/LocalizedCausalBroadcast, above its perfect links.
#include <cstdio>
#include <iostream>
#include <sstream>
#include "besteffortbroadcast.h"
#include "localizedcausalbroadcast.h"
#include "uniformreliablebroadcast.h"

// In place of a perfect link: what is sent on it is a packet, and a packet that arrives comes out of it.
struct Link : Receiver, Sender {
    unsigned peer;
    Link(unsigned me, unsigned peer) : Receiver(me), Sender(peer), peer(peer) {}
    void send(const char* data, unsigned n) override {
        std::printf("packet %u ", peer - 1);
        for (unsigned i = 0; i < n; i++) std::printf(i + 1 < n ? "%02x" : "%02x\n", (unsigned char)data[i]);
    }
    void arrives(const string& bytes) { deliverToAll(peer, bytes.data(), bytes.size()); }
};

struct Application : Target {
    void onMessage(unsigned, unsigned source, const char* data, unsigned n) override { onMessage(source, data, n); }
    void onMessage(unsigned, const char* data, unsigned n) override { std::printf("deliver %.*s\n", int(n), data); }
};

int main() {
    std::setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
    vector<Link*> links;
    Broadcast* top = nullptr;
    for (string line, word; std::getline(std::cin, line); std::puts("ok"), std::fflush(stdout)) {
        std::istringstream words(line);
        words >> word;
        if (word == "init") { // the objects of the last process are left alone
            unsigned me, n;
            words >> me >> n;
            vector<Sender*> senders;
            vector<Receiver*> receivers;
            set<unsigned> all; // every process affects every other
            links.assign(n, nullptr);
            for (unsigned k = 1; k <= n; all.insert(k++)) {
                if (k == me + 1) continue;
                links[k - 1] = new Link(me + 1, k);
                senders.push_back(links[k - 1]), receivers.push_back(links[k - 1]);
            }
            auto* best_effort = new BestEffortBroadcast(me + 1, senders, receivers);
            auto* uniform = new UniformReliableBroadcast(best_effort);
            top = new LocalizedCausalBroadcast(uniform, all, Membership::getRank(me + 1));
            top->addTarget(new Application);
        } else if (word == "send") {
            words >> word >> word;
            top->broadcastPublic(word.data(), word.size());
        } else {
            unsigned from, byte;
            string hex, bytes;
            words >> from >> hex;
            for (const char* at = hex.data(); std::sscanf(at, "%2x", &byte) == 1; at += 2) bytes += char(byte);
            links[from]->arrives(bytes);
        }
    }
}
