// Drives CRuntime and CMessenger of @collabs/collabs, installed in or above CHECKOUT: node adapter.js CHECKOUT
'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');
const readline = require('node:readline');

const { CMessenger, CRuntime } = createRequire(path.resolve(process.argv[2], 'package.json'))('@collabs/collabs');
let runtime;
let messenger;
let update;

const say = (line) => process.stdout.write(`${line}\n`);

function init(process) {
  runtime = new CRuntime({ debugReplicaID: `replica-${process}`, autoTransactions: 'debugOp' });
  messenger = runtime.registerCollab('messages', (parent) => new CMessenger(parent));
  messenger.on('Message', ({ message, meta }) => meta.isLocalOp || say(`deliver ${message}`));
  runtime.on('Send', (event) => (update = Buffer.from(event.message).toString('base64')));
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [, word, first, last] = /^(\w+) ?([\d,]*) ?(.*)$/.exec(line);
  if (word === 'init') init(first);
  if (word === 'send') {
    messenger.sendMessage(last);
    for (const other of first.split(',')) say(`packet ${other} ${update}`);
  }
  if (word === 'packet') runtime.receive(Buffer.from(last, 'base64'));
  say('ok'); // an application may not send from inside a delivery: CRuntime refuses it
});
