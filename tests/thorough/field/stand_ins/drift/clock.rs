//! Stands in for the clock of drift's cortex-crdt.
#[derive(Clone, Default)]
pub struct VectorClock(pub std::collections::BTreeMap<String, u64>);

impl VectorClock {
    pub fn new() -> Self {
        Self::default()
    }
    pub fn increment(&mut self, agent: &str) {
        *self.0.entry(agent.to_string()).or_default() += 1;
    }
    pub fn get(&self, agent: &str) -> u64 {
        self.0.get(agent).copied().unwrap_or_default()
    }
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(agent, &count)| {
            self.0.insert(agent.clone(), count.max(self.get(agent)));
        });
    }
}
