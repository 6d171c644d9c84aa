// Stands in for the multicast: a packet is a kind, the sender, the message's number, and a proposal or the final one.
namespace msg { struct SeqMessage { uint32_t sender, msg_id; }; }
namespace process {
typedef std::vector<net::Address> ProcessList;
typedef std::shared_ptr<udp::Client> Peer;
struct Process {
    struct Packet { uint32_t kind, sender, msg_id, number; };
    struct Held { uint32_t sender, msg_id, number; bool final; };
    ProcessList all;
    uint32_t me, seen = 0, sent = 0;
    std::vector<Held> queue;
    threadutil::ThreadGroup threads;
    Process(ProcessList processes, unsigned id, unsigned short, bool) : all(processes), me(id) {}
    void TotalOrder(unsigned, std::function<void(msg::SeqMessage&)> deliver) {
        udp::Server(0).Listen([=](Peer client, char* bytes, size_t) {
            Packet packet = *(Packet*)bytes;
            auto before = [](Held& a, Held& b) {
                return std::make_tuple(a.number, a.sender, a.msg_id) < std::make_tuple(b.number, b.sender, b.msg_id);
            };
            if (packet.kind == 1) queue.push_back({packet.sender, packet.msg_id, packet.number = ++seen, false});
            for (auto& held : queue)
                if (packet.kind == 2 && held.sender == packet.sender && held.msg_id == packet.msg_id)
                    held.number = packet.number, held.final = true, seen = seen > packet.number ? seen : packet.number;
            client->Send((char*)&packet, sizeof packet);
            while (!queue.empty()) {
                auto first = queue.begin();
                for (auto at = first; at != queue.end(); ++at) if (before(*at, *first)) first = at;
                if (!first->final) break;
                msg::SeqMessage found = {ntohl(first->sender), ntohl(first->msg_id)};
                deliver(found), queue.erase(first);
            }
            return udp::ServerAction::Continue;
        }, nullptr);
    }
    void LaunchMulticastSender() {
        threads.AddThread([this] {
            Packet packet = {1, htonl(me), htonl(++sent), 0};
            for (uint32_t final = 0; packet.kind <= 2; packet.kind++, packet.number = final)
                for (auto& peer : all) udp::Client(peer).SendWithAck((char*)&packet, sizeof packet, 0, [&](Peer, char* bytes, size_t) {
                    Packet* ack = (Packet*)bytes;
                    if (ack->msg_id != packet.msg_id || ack->kind != packet.kind) return udp::ServerAction::Continue;
                    final = final > ack->number ? final : ack->number;
                    return udp::ServerAction::Stop;
                });
        });
    }
};
} // namespace process
