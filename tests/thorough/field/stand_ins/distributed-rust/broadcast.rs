//! Stands in for the broadcast of distributed-rust, without relays: a process acknowledges its own messages at once.
use crate::{tcp::{Message, TcpHandler}, udp::{Payload, SenderID}};

pub fn localized_causal_broadcast(handler: &TcpHandler, payload: &Payload) -> Result<(), ()> {
    if payload.owner_id.0 != handler.current_node_id {
        return Ok(());
    }
    for node in handler.nodes.values().filter(|node| node.id != handler.current_node_id) {
        let message = Message { payload: payload.clone(), destination: node.clone() };
        handler.tx_sending_channel.send(message).unwrap();
    }
    handler.delivered.insert(SenderID(handler.current_node_id), payload)
}
