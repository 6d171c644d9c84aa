//! Stands in for drift's causal delivery, with the same kind of bug: any number of entries may be ahead by one.
use cortex_crdt::VectorClock;

pub struct CausalDeliveryManager(Vec<(i64, VectorClock)>);

impl CausalDeliveryManager {
    pub fn new() -> Self {
        Self(Vec::new())
    }
    pub fn can_apply_clock(&self, delta: &VectorClock, local: &VectorClock) -> bool {
        delta.0.iter().all(|(agent, &count)| count <= 1 + local.get(agent))
    }
    pub fn buffer_row(&mut self, delta: i64, clock: VectorClock) {
        self.0.push((delta, clock));
    }
    pub fn drain_applicable(&mut self, local: &VectorClock) -> Vec<(i64, VectorClock)> {
        let Some(ready) = self.0.iter().position(|(_, clock)| self.can_apply_clock(clock, local)) else { return Vec::new() };
        vec![self.0.remove(ready)]
    }
}
