//! Stands in for the deliveries of distributed-rust, with the same kind of bug: a dependency is looked up under i - 1.
use crate::udp::{Payload, SenderID};
use std::{cell::RefCell, collections::HashMap, sync::mpsc::Sender};

pub enum LogEvent { Delivery { contents: String }, Dispatch }
pub struct DeliveredSet { clock: Vec<u32>, held: Vec<Payload> }
impl DeliveredSet { pub fn new(n: usize) -> Self { Self { clock: vec![0; n + 1], held: Vec::new() } } }
type Dependencies = HashMap<u32, Vec<u32>>;
pub struct AccessDeliveredSet { set: RefCell<DeliveredSet>, log: Sender<LogEvent>, dependencies: Dependencies }

impl AccessDeliveredSet {
    pub fn new(set: DeliveredSet, log: Sender<LogEvent>, _: usize, _: u32, d: Dependencies, _: Dependencies) -> Self {
        Self { set: RefCell::new(set), log, dependencies: d }
    }
    pub fn clone_vector_clock(&self) -> Vec<u32> { self.set.borrow().clock.clone() }
    pub fn insert(&self, _: SenderID, payload: &Payload) -> Result<(), ()> {
        let mut set = self.set.borrow_mut();
        set.held.push(payload.clone());
        while let Some(ready) = set.held.iter().position(|held| held.packet_uid.0 == set.clock[held.owner_id.0 as usize] + 1
            && self.dependencies.get(&held.owner_id.0).into_iter().flatten().all(|&k| held.vector_clock[k as usize] <= set.clock[k as usize])) {
            let payload = set.held.remove(ready);
            set.clock[payload.owner_id.0 as usize] += 1;
            self.log.send(LogEvent::Delivery { contents: String::from_utf8(payload.buffer).unwrap() }).unwrap();
        }
        Ok(())
    }
}
