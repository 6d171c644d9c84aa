// Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg). There is nothing to compile:
//
//     crownless conform --order causal -- node adapter.js ./matrix.js
//     crownless conform --order causal -- node adapter.js ./broadcast_clocks.js
//
// Wrong is BroadcastClocks.
'use strict';

module.exports = class Matrix {
  constructor(me, n, transmit, deliver) {
    Object.assign(this, { me, transmit, deliver });
    // sent[k][j]: the messages that k has sent to j, as far as is known here; delivered[k]: those of k, here.
    this.sent = Array.from({ length: n }, () => Array(n).fill(0));
    this.delivered = Array(n).fill(0);
    this.waiting = [];
  }

  onSend(to, message) {
    this.transmit(to, { message, stamp: this.sent }); // which makes a copy
    this.sent[this.me][to] += 1;
  }

  onPacket(from, { message, stamp }) {
    this.waiting.push({ from, message, stamp });
    let next; // each delivery may let through another one
    while ((next = this.waiting.findIndex((held) => this.isReady(held))) >= 0) {
      const [held] = this.waiting.splice(next, 1);
      this.update(held);
      this.deliver(held.message); // last, since the application may send from there
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
};
