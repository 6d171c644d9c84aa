// Wrong: vector clocks that count broadcasts, used for messages to one process. Some are never delivered.
'use strict';

const Matrix = require('./matrix.js');

module.exports = class BroadcastClocks extends Matrix {
  sends = 0;

  onSend(to, message) {
    this.sends += 1;
    const stamp = this.delivered.map((count, k) => (k === this.me ? this.sends : count));
    this.transmit(to, { message, stamp });
  }

  isReady({ from, stamp }) {
    return this.delivered.every(
      (count, k) => k === this.me || (k === from ? stamp[k] === count + 1 : stamp[k] <= count),
    );
  }

  update({ from }) {
    this.delivered[from] += 1;
  }
};
