// Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg). There is nothing to compile:
//
//     crownless conform --order causal -- node matrix.js
//     crownless conform --order causal -- node matrix.js --broadcast-clocks
//
// Wrong is BroadcastClocks.

class Matrix {
  constructor(me, n) {
    this.me = me;
    // sent[k][j]: the messages that k has sent to j, as far as is known here; delivered[k]: those of k, here.
    this.sent = Array.from({ length: n }, () => Array(n).fill(0));
    this.delivered = Array(n).fill(0);
    this.waiting = [];
  }

  onSend(to, message) {
    for (const j of to) transmit(j, { message, stamp: this.sent }); // which makes a copy
    for (const j of to) this.sent[this.me][j] += 1;
  }

  onPacket(from, { message, stamp }) {
    this.waiting.push({ from, message, stamp });
    let next; // each delivery may let through another one
    while ((next = this.waiting.findIndex((held) => this.isReady(held))) >= 0) {
      const [held] = this.waiting.splice(next, 1);
      this.update(held);
      deliver(held.message); // last, since the application may send from there
    }
  }

  isReady({ stamp }) {
    return this.delivered.every((count, k) => stamp[k][this.me] <= count);
  }

  update({ from, stamp }) {
    this.delivered[from] += 1;
    stamp[from][this.me] += 1; // it counts what came before the message, and now the message too
    this.sent = this.sent.map((row, k) => row.map((count, j) => Math.max(count, stamp[k][j])));
  }
}

/** Wrong: vector clocks that count broadcasts, used for messages to one process. Some are never delivered. */
class BroadcastClocks extends Matrix {
  sends = 0;

  onSend(to, message) {
    this.sends += 1;
    const stamp = this.delivered.map((count, k) => (k === this.me ? this.sends : count));
    for (const j of to) transmit(j, { message, stamp });
  }

  isReady({ from, stamp }) {
    return this.delivered.every(
      (count, k) => k === this.me || (k === from ? stamp[k] === count + 1 : stamp[k] <= count),
    );
  }

  update({ from }) {
    this.delivered[from] += 1;
  }
}

const Adapter = process.argv.includes('--broadcast-clocks') ? BroadcastClocks : Matrix;

// ---- The lines that crownless reads and writes. Nothing below needs a change. ----

let node;
let replies = []; // what the application will send from inside deliveries

console.log = console.info = console.error; // standard output is for the answers
const say = (line) => process.stdout.write(`${line}\n`);
const transmit = (to, packet) => say(`packet ${to} ${JSON.stringify(packet)}`);

function deliver(message) {
  say(`deliver ${message}`);
  const reply = replies.shift();
  return reply && node.onSend(...reply);
}

async function read(line) {
  const [, word, first, last] = /^(\w+) ?([\d,]*) ?(.*)$/.exec(line);
  const numbers = first.split(',').map(Number);
  switch (word) {
    case 'init':
      node = new Adapter(numbers[0], Number(last));
      replies = [];
      say('ok replies');
      return;
    case 'reply': // not an input yet, so that it has no answer
      replies.push([numbers, last]);
      return;
    case 'send':
      await node.onSend(numbers, last);
      break;
    case 'packet':
      await node.onPacket(numbers[0], JSON.parse(last));
      break;
    default:
      throw new Error(`this adapter has nothing for ${line}`);
  }
  say('ok');
}

async function main() {
  let unfinished = '';
  for await (const text of process.stdin.setEncoding('utf8')) {
    const lines = (unfinished + text).split('\n');
    unfinished = lines.pop();
    for (const line of lines) await read(line);
  }
}

main();
