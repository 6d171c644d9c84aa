//! Drives the causal delivery of ruizrica/drift (cortex-multiagent): the manager and the clock, as its tests do.
use causal_delivery::CausalDeliveryManager;
use cortex_crdt::VectorClock;

struct Agent {
    name: String,
    agents: usize,
    clock: VectorClock,
    manager: CausalDeliveryManager,
    /// The deltas that have arrived: the manager holds their numbers and clocks only.
    deltas: Vec<String>,
}

impl Agent {
    fn new(me: &str, agents: usize) -> Self {
        let (clock, manager) = (VectorClock::new(), CausalDeliveryManager::new());
        Agent { name: me.to_string(), agents, clock, manager, deltas: Vec::new() }
    }

    /// A delta carries the clock of its agent, whose own entry counts the agent's deltas.
    fn send(&mut self, message: &str) {
        self.clock.increment(&self.name);
        let clock: Vec<_> = (0..self.agents).map(|k| self.clock.get(&k.to_string()).to_string()).collect();
        for to in (0..self.agents).filter(|to| to.to_string() != self.name) {
            println!("packet {to} {} {message}", clock.join(","));
        }
    }

    fn receive(&mut self, counts: &str, message: &str) {
        let mut clock = VectorClock::new();
        for (agent, count) in counts.split(',').enumerate() {
            (0..count.parse().unwrap()).for_each(|_: u64| clock.increment(&agent.to_string()));
        }
        self.deltas.push(message.to_string());
        if self.manager.can_apply_clock(&clock, &self.clock) {
            self.clock.merge(&clock);
            println!("deliver {message}");
        } else {
            self.manager.buffer_row(self.deltas.len() as i64 - 1, clock);
        }
        for (delta, clock) in self.manager.drain_applicable(&self.clock) {
            self.clock.merge(&clock);
            println!("deliver {}", self.deltas[delta as usize]);
        }
    }
}

fn main() {
    let mut agent = Agent::new("0", 1);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["init", me, n] => agent = Agent::new(me, n.parse().unwrap()),
            ["send", _, message] => agent.send(message),
            ["packet", _, counts, message] => agent.receive(counts, message),
            _ => {}
        }
        println!("ok");
    }
}
