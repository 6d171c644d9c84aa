#pragma once
#include "besteffortbroadcast.h"
struct UniformReliableBroadcast : Broadcast {
    Broadcast* below;
    UniformReliableBroadcast(Broadcast* b) : Broadcast(b->me()), below(b) { b->addTarget(this); }
    void onMessage(unsigned source, const char* data, unsigned n) override { deliverToAll(source, data, n); }
    void broadcastPublic(const char* data, unsigned n) override { below->broadcastPublic(data, n); }
};
