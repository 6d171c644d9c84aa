#pragma once
#include "uniformreliablebroadcast.h"
struct Membership { static unsigned getRank(unsigned process) { return process - 1; } };
struct LocalizedCausalBroadcast : Broadcast { // eight counts of one byte, and the message
    Broadcast* below;
    vector<std::pair<unsigned, string>> held;
    string clock = string(8, 0);
    char sent = 0;
    LocalizedCausalBroadcast(Broadcast* b, set<unsigned>, unsigned) : Broadcast(b->me()), below(b) { b->addTarget(this); }
    void broadcastPublic(const char* data, unsigned n) override {
        string packet = clock + string(data, n);
        packet[this_process - 1] = sent++;
        below->broadcastPublic(packet.data(), packet.size());
    }
    void onMessage(unsigned source, const char* data, unsigned n) override {
        held.emplace_back(source, string(data, n));
        for (unsigned i = 0, k; i < held.size(); i++) {
            for (k = 0; k < 8 && held[i].second[k] <= clock[k]; k++) {}
            if (k < 8) continue;
            auto ready = held[i];
            held.erase(held.begin() + i), i = -1, clock[ready.first - 1]++;
            deliverToAll(ready.first, ready.second.data() + 8, ready.second.size() - 8);
        }
    }
};
