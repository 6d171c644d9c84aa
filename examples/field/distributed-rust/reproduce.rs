//! Without crownless, in place of their main.rs: P1 sends m1, P3 delivers it and sends m2, which reaches P1 and P2 first.
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

/// As in their keep_receiving_messages.
fn receive(node: &Node, from: u32, message: &Payload) {
    node.0.delivered.insert(SenderID(from), message).unwrap();
    broadcast::localized_causal_broadcast(&node.0, message).unwrap();
}

fn main() {
    let (p1, p2, p3) = (start(1, 3), start(2, 3), start(3, 3));
    let m1 = payload(1, 1, 1, p1.0.delivered.clone_vector_clock(), "m1");
    broadcast::localized_causal_broadcast(&p1.0, &m1).unwrap();
    receive(&p3, 1, &m1);
    let m2 = payload(3, 3, 1, p3.0.delivered.clone_vector_clock(), "m2");
    broadcast::localized_causal_broadcast(&p3.0, &m2).unwrap();
    receive(&p2, 3, &m2);
    println!("m2 depends on {:?}; P2 has delivered:", m2.vector_clock);
    p2.2.try_iter().for_each(|event| println!("{event:?}"));
}
