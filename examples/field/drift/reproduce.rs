//! Without crownless; linked as adapter.rs is. A sends a1; B applies it and sends b1; b1 reaches C first.
use causal_delivery::CausalDeliveryManager;
use cortex_crdt::VectorClock;

fn main() {
    let mut a1 = VectorClock::new();
    a1.increment("A");
    let mut b1 = a1.clone();
    b1.increment("B");
    let (manager, local) = (CausalDeliveryManager::new(), VectorClock::new());
    println!("C may apply b1 before a1: {}", manager.can_apply_clock(&b1, &local));
}
