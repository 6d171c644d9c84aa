//! Drives the middleware thread of the crate `tcb` (version vectors), as an example of that crate: examples/adapter.rs.
use crossbeam::crossbeam_channel::{bounded, unbounded};
use std::sync::Arc;
use tcb::configuration::middleware_configuration::{Batching, Configuration};
use tcb::vv::structs::{messages::{ClientPeerMiddleware, MiddlewareClient}, version_vector::VersionVector};
use tcb::vv::middleware::middleware_thread;

fn main() {
    let batching = Batching { size: 1000, message_number: 10, lower_timeout: 100_000_000, upper_timeout: 500_000_000 };
    let (thread_stack_size, middleware_thread_stack_size, stream_sender_timeout) = (50_000, 500_000, 1_000_000);
    let configuration = Arc::new(Configuration { // as in their examples/configuration.toml
        thread_stack_size, middleware_thread_stack_size, stream_sender_timeout, track_causal_stability: true, batching,
    });
    let (mut me, mut sent, mut vector, mut replies) = (0, 0, VersionVector::new(1), Vec::new());
    let (mut to_middleware, _) = bounded(0); // a send returns when the middleware has taken the message
    let ((_, mut to_application), mut to_peers) = (unbounded(), Vec::new()); // to the threads of the TCP streams
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        let mut sends = Vec::new(); // by the application
        match words[0] {
            "init" => {
                (me, sent, vector) = (words[1].parse().unwrap(), 0, VersionVector::new(words[2].parse().unwrap()));
                let ((to_client, receiver), (sender, from_all)) = (unbounded(), bounded(0));
                (to_middleware, to_application, replies) = (sender, receiver, Vec::new());
                let (senders, receivers) = (1..vector.len()).map(|_| unbounded()).unzip();
                to_peers = receivers;
                let (others, shared) = (vec![String::new(); vector.len() - 1], configuration.clone());
                std::thread::spawn(move || middleware_thread::start(me, others, from_all, to_client, senders, shared));
            }
            "send" => sends.push(words[2].to_string()),
            "reply" => { replies.insert(0, words[2].to_string()); continue }
            _ => { // as in reader::handle_received_peer_msg
                let bytes: Vec<u8> = words[2].split(',').map(|byte| byte.parse().unwrap()).collect();
                let (peer_id, message) = (words[1].parse().unwrap(), bincode::deserialize(&bytes).unwrap());
                to_middleware.send(ClientPeerMiddleware::PEER { peer_id, message }).unwrap();
            }
        }
        loop {
            for message in sends.drain(..) { // as in VV::send
                (sent, vector[me]) = (sent + 1, sent + 1);
                let (payload, version_vector) = (message.into_bytes(), vector.clone());
                to_middleware.send(ClientPeerMiddleware::CLIENT { msg_id: sent, payload, version_vector }).unwrap();
            }
            to_middleware.send(ClientPeerMiddleware::SETUP).unwrap(); // taken when all before it is done
            for (channel, to) in to_peers.iter().zip((0..vector.len()).filter(|&to| to != me)) {
                for (_, bytes) in channel.try_iter() {
                    println!("packet {to} {}", format!("{bytes:?}").replace(['[', ' ', ']'], ""));
                }
            }
            let Ok(delivery) = to_application.try_recv() else { break };
            if let MiddlewareClient::DELIVER { sender_id, message, version_vector } = delivery {
                vector[sender_id] = version_vector[sender_id]; // as in VV::handle_delivery
                println!("deliver {}", String::from_utf8(message.payload).unwrap());
                sends.extend(replies.pop());
            }
        }
        println!("{}", if words[0] == "init" { "ok replies" } else { "ok" });
    }
}
