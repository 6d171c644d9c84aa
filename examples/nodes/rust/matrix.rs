//! Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg).
//!
//!     rustc -O --edition 2021 matrix.rs
//!     crownless conform --order causal -- ./matrix
//!     crownless conform --order causal -- ./matrix --own-column
//!
//! Wrong is --own-column: only the column of the receiver travels, and nobody learns of messages to third processes.

mod adapter;

use adapter::{Node, Port};

type Counts = Vec<Vec<u32>>;

struct Packet {
    from: usize,
    stamp: Counts,
    message: String,
}

struct Matrix {
    me: usize,
    /// `sent[k][j]`: the messages that k has sent to j, as far as is known here.
    sent: Counts,
    /// `delivered[k]`: the messages of k that were delivered here.
    delivered: Vec<u32>,
    waiting: Vec<Packet>,
    own_column: bool,
}

impl Matrix {
    fn new(me: usize, n: usize, own_column: bool) -> Self {
        Matrix {
            me,
            sent: vec![vec![0; n]; n],
            delivered: vec![0; n],
            waiting: Vec::new(),
            own_column,
        }
    }

    /// The matrix that travels with a message, as `0,1,0;0,0,0;2,0,0`.
    fn stamp_for(&self, to: usize) -> String {
        let row = |counts: &Vec<u32>| {
            let travels = |j| !self.own_column || j == to;
            let each = (0..counts.len()).map(|j| if travels(j) { counts[j] } else { 0 });
            each.map(|c| c.to_string()).collect::<Vec<_>>().join(",")
        };
        self.sent.iter().map(row).collect::<Vec<_>>().join(";")
    }

    fn is_ready(&self, packet: &Packet) -> bool {
        (0..self.delivered.len()).all(|k| packet.stamp[k][self.me] <= self.delivered[k])
    }

    fn take(&mut self, mut packet: Packet, port: &mut Port) {
        self.delivered[packet.from] += 1;
        packet.stamp[packet.from][self.me] += 1; // it counted what came before, and now this one too
        for (row, counts) in self.sent.iter_mut().zip(&packet.stamp) {
            for (known, &count) in row.iter_mut().zip(counts) {
                *known = count.max(*known);
            }
        }
        port.deliver(&packet.message, self); // last, since the application may send from there
    }
}

impl Node for Matrix {
    fn on_send(&mut self, to: usize, message: &str, port: &mut Port) {
        port.transmit(to, &format!("{} {message}", self.stamp_for(to)));
        self.sent[self.me][to] += 1;
    }

    fn on_packet(&mut self, from: usize, body: &str, port: &mut Port) {
        let (rows, message) = body.split_once(' ').expect("a stamp and a message");
        let count = |word: &str| word.parse().expect("a count");
        let read = |row: &str| row.split(',').map(count).collect();
        let stamp = rows.split(';').map(read).collect();
        self.waiting.push(Packet {
            from,
            stamp,
            message: message.to_owned(),
        });
        // Each delivery may let through another one.
        while let Some(ready) = self.waiting.iter().position(|held| self.is_ready(held)) {
            let packet = self.waiting.remove(ready);
            self.take(packet, port);
        }
    }
}

fn main() {
    let own_column = std::env::args().any(|argument| argument == "--own-column");
    adapter::run(|me, n| Matrix::new(me, n, own_column));
}
