//! Stands in for the link of distributed-rust.
use crate::{delivered::AccessDeliveredSet, hosts::Node, udp::Payload};
pub struct Message { pub payload: Payload, pub destination: Node }
pub struct TcpHandler {
    pub nodes: std::collections::HashMap<u32, Node>, pub current_node_id: u32,
    pub tx_sending_channel: std::sync::mpsc::Sender<Message>, pub delivered: AccessDeliveredSet,
}
