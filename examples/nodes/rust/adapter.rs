//! Any `Node` as a program that speaks lines: `mod adapter;`, and `adapter::run(MyNode::new)` in its main.

use std::{collections::VecDeque, io};

pub trait Node {
    fn on_send(&mut self, to: usize, message: &str, port: &mut Port);
    fn on_packet(&mut self, from: usize, body: &str, port: &mut Port);
}

/// What a node acts through.
#[derive(Default)]
pub struct Port(VecDeque<(usize, String)>);

impl Port {
    pub fn transmit(&mut self, to: usize, body: &str) {
        println!("packet {to} {body}");
    }

    /// A node passes itself, since the application may send from inside the delivery.
    pub fn deliver(&mut self, message: &str, node: &mut impl Node) {
        println!("deliver {message}");
        if let Some((to, reply)) = self.0.pop_front() {
            node.on_send(to, &reply, self);
        }
    }
}

pub fn run<N: Node>(start: impl Fn(usize, usize) -> N) {
    let number = |word: &str| word.parse().expect("the number of a process");
    let (mut node, mut port) = (start(0, 1), Port::default());
    for line in io::stdin().lines().map_while(Result::ok) {
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["init", me, n] => {
                (node, port) = (start(number(me), number(n)), Port::default());
                println!("ok replies"); // it knows the word `reply`
                continue;
            }
            ["send", to, message] => node.on_send(number(to), message, &mut port),
            ["packet", from, body] => node.on_packet(number(from), body, &mut port),
            ["reply", to, message] => {
                port.0.push_back((number(to), message.to_owned()));
                continue; // it is no input: what follows is
            }
            _ => {} // a tick
        }
        println!("ok");
    }
}
