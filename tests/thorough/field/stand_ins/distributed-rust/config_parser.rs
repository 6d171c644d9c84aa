//! Stands in for the parser of distributed-rust.
use std::collections::HashMap;

pub struct ConfigLcb { pub causality_map: HashMap<u32, Vec<u32>>, pub inverted_causality_map: HashMap<u32, Vec<u32>> }
impl ConfigLcb {
    pub fn read(path: &str) -> std::io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let causality_map = text.lines().skip(1).map(numbers).enumerate().map(|(i, line)| (i as u32, line)).collect();
        Ok(Self { causality_map, inverted_causality_map: HashMap::new() })
    }
}
