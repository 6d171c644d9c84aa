//! Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg).
//!
//!     rustc -O --edition 2021 matrix.rs
//!     crownless conform --order causal -- ./matrix
//!     crownless conform --order causal -- ./matrix --own-column
//!
//! Wrong is --own-column: only the column of the receiver travels, and nobody learns of messages to third processes.

use std::{collections::VecDeque, io};

type Counts = Vec<Vec<u32>>;

struct Packet {
    from: usize,
    stamp: Counts,
    message: String,
}

struct Node {
    me: usize,
    /// `sent[k][j]`: the messages that k has sent to j, as far as is known here.
    sent: Counts,
    /// `delivered[k]`: the messages of k that were delivered here.
    delivered: Vec<u32>,
    waiting: Vec<Packet>,
    own_column: bool,
    replies: Replies,
}

impl Node {
    fn new(me: usize, n: usize) -> Self {
        Node {
            me,
            sent: vec![vec![0; n]; n],
            delivered: vec![0; n],
            waiting: Vec::new(),
            own_column: std::env::args().any(|argument| argument == "--own-column"),
            replies: Replies::new(),
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

    fn take(&mut self, mut packet: Packet) {
        self.delivered[packet.from] += 1;
        packet.stamp[packet.from][self.me] += 1; // it counted what came before, and now this one too
        for (row, counts) in self.sent.iter_mut().zip(&packet.stamp) {
            for (known, &count) in row.iter_mut().zip(counts) {
                *known = count.max(*known);
            }
        }
        self.deliver(&packet.message); // last, since the application may send from there
    }

    fn on_send(&mut self, to: &[usize], message: &str) {
        let stamps: Vec<_> = to.iter().map(|&j| self.stamp_for(j)).collect();
        for (&j, stamp) in to.iter().zip(stamps) {
            transmit(j, &format!("{stamp} {message}"));
            self.sent[self.me][j] += 1;
        }
    }

    fn on_packet(&mut self, from: usize, body: &str) {
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
            self.take(packet);
        }
    }
}

// ---- The lines that crownless reads and writes. Nothing below needs a change. ----

/// What the application will send from inside deliveries.
type Replies = VecDeque<(Vec<usize>, String)>;

fn transmit(to: usize, body: &str) {
    println!("packet {to} {body}");
}

impl Node {
    fn deliver(&mut self, message: &str) {
        println!("deliver {message}");
        if let Some((to, reply)) = self.replies.pop_front() {
            self.on_send(&to, &reply);
        }
    }
}

fn main() {
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let numbers = |words: &str| words.split(',').map(number).collect::<Vec<_>>();
    let mut node = Node::new(0, 1);
    for line in io::stdin().lines().map_while(Result::ok) {
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["init", me, n] => {
                node = Node::new(number(me), number(n));
                println!("ok replies");
                continue;
            }
            ["reply", to, message] => {
                node.replies.push_back((numbers(to), message.to_owned()));
                continue; // not an input yet, so that it has no answer
            }
            ["send", to, message] => node.on_send(&numbers(to), message),
            ["packet", from, body] => node.on_packet(number(from), body),
            _ => panic!("this adapter has nothing for {line}"),
        }
        println!("ok");
    }
}
