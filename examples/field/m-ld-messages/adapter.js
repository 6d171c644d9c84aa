// Drives TreeClockMessageService, as their engine does: node adapter.js CHECKOUT
'use strict';

const path = require('node:path');
const readline = require('node:readline');

const { TreeClockMessageService } = require(path.resolve(process.argv[2], 'ext/engine/messages.js'));
const { TreeClock } = require(path.resolve(process.argv[2], 'ext/engine/clocks.js'));
let service;
let buffer;
let replies;

const say = (line) => process.stdout.write(`${line}\n`);

function init(process, processes) {
  let clock = TreeClock.GENESIS;
  for (let forks = 0; forks < process; forks += 1) clock = clock.forked().right;
  if (process < processes - 1) clock = clock.forked().left;
  service = new TreeClockMessageService(clock);
  buffer = [];
  replies = [];
}

function send(to, data) {
  const time = service.event();
  for (const other of to.split(',')) say(`packet ${other} ${JSON.stringify({ time: time.toJSON(), data })}`);
}

async function deliver({ data }) {
  say(`deliver ${data}`);
  const reply = replies.shift();
  if (reply) send(...reply);
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, word, first, last] = /^(\w+) ?([\d,]*) ?(.*)$/.exec(line);
    if (word === 'init') init(Number(first), Number(last));
    else if (word === 'send') send(first, last);
    else if (word === 'reply') replies.push([first, last]);
    else {
      const { time, data } = JSON.parse(last);
      await service.receive({ time: TreeClock.fromJson(time), data }, buffer, deliver);
    }
    if (word !== 'reply') say(word === 'init' ? 'ok replies' : 'ok');
  }
}

main();
