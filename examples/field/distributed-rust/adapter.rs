//! Drives the localized causal broadcast of Tomatosoup97/distributed-rust: in place of their main.rs, with its modules.
#![allow(dead_code, unused)]
macro_rules! debug { ($($it:tt)*) => {} } macro_rules! trace { ($($it:tt)*) => {} }
mod broadcast; mod conf; mod config_error; mod config_parser; mod delivered;
mod hosts; mod network_error; mod tcp; mod udp;
use delivered::{AccessDeliveredSet, DeliveredSet, LogEvent};
use std::sync::mpsc::{channel, Receiver};
use udp::{OwnerID, PacketID, Payload, PayloadKind, SenderID};

type Node = (tcp::TcpHandler, Receiver<tcp::Message>, Receiver<LogEvent>, u32);

fn start(me: u32, n: u32) -> Node {
    // Every process affects every other: the file that the project's description asks for, read by their parser.
    let line = |i: u32| (0..n).map(|k| format!("{} ", (i + k) % n + 1)).collect::<String>() + "\n";
    let path = std::env::temp_dir().join(format!("lcb-{}", std::process::id()));
    std::fs::write(&path, "9\n".to_string() + &(0..n).map(line).collect::<String>()).unwrap();
    let config = config_parser::ConfigLcb::read(path.to_str().unwrap()).unwrap();
    let ((to_link, link), (to_log, log)) = (channel(), channel());
    let (causality, inverted) = (config.causality_map, config.inverted_causality_map);
    let delivered = AccessDeliveredSet::new(DeliveredSet::new(n as usize), to_log, n as usize, me, causality, inverted);
    let node = |id| (id, hosts::Node { id, ip: String::new(), port: id });
    let nodes = (1..=n).map(node).collect();
    (tcp::TcpHandler { nodes, current_node_id: me, tx_sending_channel: to_link, delivered }, link, log, 0)
}

fn payload(owner: u32, sender: u32, id: u32, vector_clock: Vec<u32>, message: &str) -> Payload {
    let (owner_id, sender_id, packet_uid, kind) = (OwnerID(owner), SenderID(sender), PacketID(id), PayloadKind::Lcb);
    Payload { owner_id, sender_id, packet_uid, kind, is_ack: false, vector_clock, buffer: message.into() }
}

fn main() {
    let mut node = start(1, 1);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        let (handler, number) = (&node.0, |k: usize| words[k].parse::<u32>().unwrap());
        if words[0] == "init" {
            node = start(number(1) + 1, number(2));
        } else if words[0] == "send" { // as in their enqueue_broadcast_messages
            node.3 += 1;
            let (me, clock) = (handler.current_node_id, handler.delivered.clone_vector_clock());
            broadcast::localized_causal_broadcast(handler, &payload(me, me, node.3, clock, words[2])).unwrap();
        } else { // as in their keep_receiving_messages
            let clock = words[4].split(',').map(|count| count.parse().unwrap()).collect();
            let arrived = payload(number(2), number(1) + 1, number(3), clock, words[5]);
            handler.delivered.insert(arrived.sender_id, &arrived).unwrap();
            broadcast::localized_causal_broadcast(handler, &arrived).unwrap();
        }
        for event in node.2.try_iter() {
            if let LogEvent::Delivery { contents, .. } = event { println!("deliver {contents}"); }
        }
        let mut packets: Vec<_> = node.1.try_iter().map(|tcp::Message { payload: p, destination, .. }| {
            let clock = format!("{:?}", p.vector_clock).replace(['[', ']', ' '], "");
            let (to, message) = (destination.id - 1, String::from_utf8(p.buffer).unwrap());
            format!("packet {to} {} {} {clock} {message}\n", p.owner_id.0, p.packet_uid.0)
        }).collect();
        packets.sort(); // they go through a map of nodes, in any order
        println!("{}ok", packets.concat());
    }
}
