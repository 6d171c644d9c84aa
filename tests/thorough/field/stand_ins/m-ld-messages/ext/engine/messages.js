// The interface of TreeClockMessageService, and a body of ours: links keep the order of one sender.
'use strict';

const { TreeClock } = require('./clocks.js');

exports.TreeClockMessageService = class {
  constructor(clock) {
    Object.assign(this, { path: clock.path, counts: {} });
  }

  event() {
    this.counts[this.path] = (this.counts[this.path] ?? 0) + 1;
    return new TreeClock(this.path, { ...this.counts });
  }

  async receive(message, buffer, deliver) {
    buffer.push(message);
    let next; // each delivery may let through another one
    while ((next = buffer.findIndex((held) => this.isReady(held))) >= 0) {
      const [ready] = buffer.splice(next, 1);
      this.counts[ready.time.path] = ready.time.counts[ready.time.path];
      await deliver(ready);
    }
  }

  isReady({ time: { path, counts } }) {
    return Object.keys(counts).every((id) => id === path || counts[id] <= (this.counts[id] ?? 0));
  }
};
