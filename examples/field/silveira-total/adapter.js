// Drives total_order_multicast.js by its menu and sockets: node --experimental-vm-modules adapter.js CHECKOUT
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const vm = require('node:vm');

const source = readFileSync(path.resolve(process.argv[2], 'total_order_multicast.js'), 'utf8');
const later = []; // what their timers, and connections that are made, will call
const links = {}; // for each other process, what takes its data
let answer; // what takes the next line that is typed

const say = (line) => process.stdout.write(`${line}\n`);
const ignore = () => {};

function connection({ port }, connected) {
  later.push(connected);
  return { on: ignore, write: (line) => say(`packet ${port - 8001} ${line.trim()}`) };
}

function server(accept) {
  [0, 1, 2].forEach((other) => accept({ on: (event, take) => (links[other] = take) }));
  return { listen: (port, host, listening) => listening() };
}

function logged(line) {
  for (const [, text] of line.matchAll(/ENTREGUE: "(.*)" \(de/g)) say(`deliver ${text}`);
}

async function init(id, processes) {
  const context = vm.createContext({
    console: { log: logged, error: console.error },
    process: { argv: ['node', 'total_order_multicast.js', `${id + 1}`] },
    setTimeout: (call) => later.push(call),
  });
  const modules = {
    net: { createServer: server, createConnection: connection },
    readline: { createInterface: () => ({ on: ignore, question: (text, take) => (answer = take) }) },
  };
  const fewer = source.replace(/{ id: (\d),.*\n/g, (peer, number) => (number > processes ? '' : peer));
  const program = new vm.SourceTextModule(fewer, { context });
  const made = (name) => new vm.SyntheticModule(Object.keys(modules[name]), () => exported(name), { context });
  const all = Object.fromEntries(Object.keys(modules).map((name) => [name, made(name)]));
  const exported = (name) => Object.entries(modules[name]).forEach((entry) => all[name].setExport(...entry));
  await program.link((name) => all[name]);
  await program.evaluate();
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, word, first, last] = /^(\w+) ?([\d,]*) ?(.*)$/.exec(line);
    if (word === 'init') await init(Number(first), Number(last));
    else if (word === 'packet') links[first](`${last}\n`);
    else for (const typed of ['1', last]) answer(typed);
    while (later.length) later.shift()();
    say('ok');
  }
})();
