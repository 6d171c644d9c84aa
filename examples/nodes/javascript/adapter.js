// Any class with onSend and onPacket as a program that speaks lines: node adapter.js ./matrix.js
'use strict';

const path = require('node:path');
const readline = require('node:readline');

const Node = require(path.resolve(__dirname, process.argv[2]));
let node;
let replies = [];

const say = (line) => process.stdout.write(`${line}\n`);
const transmit = (to, packet) => say(`packet ${to} ${JSON.stringify(packet)}`);

function deliver(message) {
  say(`deliver ${message}`);
  const reply = replies.shift();
  if (reply) node.onSend(...reply);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [, word, first, last] = /^(\w+) ?(\d*) ?(.*)$/.exec(line);
  switch (word) {
    case 'init':
      node = new Node(Number(first), Number(last), transmit, deliver);
      replies = [];
      say('ok replies'); // it knows the word `reply`
      return;
    case 'send':
      node.onSend(Number(first), last);
      break;
    case 'reply':
      replies.push([Number(first), last]);
      return; // it is no input: what follows is
    case 'packet':
      node.onPacket(Number(first), JSON.parse(last));
  }
  say('ok');
});
