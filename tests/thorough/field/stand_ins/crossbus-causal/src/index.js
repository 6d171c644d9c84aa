// The interface of CausalOrderer, and a body of ours: a message waits until the clock has all that it counts.
export class CausalOrderer {
  constructor(ownId, { onDeliver }) {
    Object.assign(this, { ownId, onDeliver, counts: {}, held: [] });
  }

  tick() {
    this.counts[this.ownId] = (this.counts[this.ownId] ?? 0) + 1;
    const copy = { ...this.counts };
    return { toJSON: () => copy };
  }

  receive(senderId, message) {
    this.held.push({ senderId, message });
    let next; // each delivery may let through another one
    while ((next = this.held.findIndex((held) => this.isReady(held))) >= 0) {
      const [ready] = this.held.splice(next, 1);
      this.counts[ready.senderId] = ready.message.clock[ready.senderId];
      this.onDeliver(ready.message);
    }
  }

  isReady({ senderId, message }) {
    return Object.entries(message.clock).every(
      ([id, count]) => count <= (this.counts[id] ?? 0) + (id === senderId ? 1 : 0),
    );
  }
}
