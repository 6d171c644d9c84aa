// The interface of TreeClock, and a body of ours: how many messages each process has sent, by its path in the tree.
'use strict';

class TreeClock {
  constructor(path, counts = {}) {
    Object.assign(this, { path, counts });
  }

  static GENESIS = new TreeClock('');

  static fromJson = ({ path, counts }) => new TreeClock(path, counts);

  forked() {
    return { left: new TreeClock(`${this.path}0`), right: new TreeClock(`${this.path}1`) };
  }

  toJSON() {
    return { path: this.path, counts: this.counts };
  }
}

exports.TreeClock = TreeClock;
