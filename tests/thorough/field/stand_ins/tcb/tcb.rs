//! Stands in for tcb, above channels that keep the order of each sender.
use std::sync::{mpsc::{Receiver, Sender}, Arc};
pub mod configuration { pub mod middleware_configuration { pub use crate::{Batching, Configuration}; } }
pub mod vv {
    pub mod structs {
        pub mod version_vector { pub use crate::VersionVector; }
        pub mod messages { pub use crate::{ClientPeerMiddleware, Message, MiddlewareClient}; }
    }
    pub mod middleware { pub mod middleware_thread { pub use crate::start; } }
}
pub struct Batching { pub size: u64, pub message_number: usize, pub lower_timeout: u64, pub upper_timeout: u64 }
pub struct Configuration {
    pub thread_stack_size: usize, pub middleware_thread_stack_size: usize, pub stream_sender_timeout: u64,
    pub track_causal_stability: bool, pub batching: Batching,
}
#[derive(Clone)]
pub struct VersionVector(Vec<usize>);
impl VersionVector { pub fn new(n: usize) -> Self { Self(vec![0; n]) } }
impl std::ops::Deref for VersionVector { type Target = Vec<usize>; fn deref(&self) -> &Vec<usize> { &self.0 } }
impl std::ops::DerefMut for VersionVector { fn deref_mut(&mut self) -> &mut Vec<usize> { &mut self.0 } }
pub struct Message { pub payload: Vec<u8>, vector: VersionVector }
impl From<&[u8]> for Message { fn from(bytes: &[u8]) -> Self {
    let (vector, payload) = bytes[1..].split_at(bytes[0].into());
    Self { payload: payload.to_vec(), vector: VersionVector(vector.iter().map(|&count| count.into()).collect()) }
} }
pub enum ClientPeerMiddleware {
    CLIENT { msg_id: usize, payload: Vec<u8>, version_vector: VersionVector },
    PEER { peer_id: usize, message: Message }, SETUP,
}
pub enum MiddlewareClient { DELIVER { sender_id: usize, message: Message, version_vector: VersionVector }, SETUP }

pub fn start<C>(me: usize, _: Vec<String>, inputs: Receiver<ClientPeerMiddleware>,
                client: Sender<MiddlewareClient>, to: Vec<Sender<((), Vec<u8>)>>, _: Arc<C>) {
    let (mut known, mut held) = (vec![0; to.len() + 1], Vec::new());
    for input in inputs {
        if let ClientPeerMiddleware::CLIENT { payload, version_vector, .. } = input {
            known[me] += 1;
            let vector = version_vector.iter().map(|&count| count as u8);
            let bytes: Vec<u8> = [known.len() as u8].into_iter().chain(vector).chain(payload).collect();
            to.iter().for_each(|peer| peer.send(((), bytes.clone())).unwrap());
        } else if let ClientPeerMiddleware::PEER { peer_id, message } = input {
            held.push((peer_id, message));
        }
        let is_ready = |known: &[usize], (sender, message): &(usize, Message)|
            (0..known.len()).all(|k| message.vector[k] <= known[k] + (k == *sender) as usize);
        while let Some(ready) = held.iter().position(|message| is_ready(&known, message)) {
            let (sender_id, message) = held.remove(ready);
            known[sender_id] += 1;
            let version_vector = message.vector.clone();
            client.send(MiddlewareClient::DELIVER { sender_id, message, version_vector }).unwrap();
        }
    }
}
