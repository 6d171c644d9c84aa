//! Stands in for the hosts of distributed-rust.
#[derive(Clone)] pub struct Node { pub id: u32, pub ip: String, pub port: u32 }
