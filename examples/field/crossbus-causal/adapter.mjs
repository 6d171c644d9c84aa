// Drives CausalOrderer, as the library exports it: node adapter.mjs CHECKOUT
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const { CausalOrderer } = await import(pathToFileURL(path.resolve(process.argv[2], 'src/index.js')));
let orderer;
let replies = [];

const say = (line) => process.stdout.write(`${line}\n`);

function send(to, text) {
  const clock = orderer.tick();
  for (const other of to.split(',')) say(`packet ${other} ${JSON.stringify({ text, clock: clock.toJSON() })}`);
}

function onDeliver({ text }) {
  say(`deliver ${text}`);
  const reply = replies.shift();
  if (reply) send(...reply);
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [, word, first, last] = /^(\w+) ?([\d,]*) ?(.*)$/.exec(line);
  switch (word) {
    case 'init':
      orderer = new CausalOrderer(`node-${first}`, { onDeliver });
      replies = [];
      say('ok replies');
      return;
    case 'send':
      send(first, last);
      break;
    case 'reply':
      replies.push([first, last]);
      return; // it is no input: what follows is
    case 'packet':
      orderer.receive(`node-${first}`, JSON.parse(last));
  }
  say('ok');
});
