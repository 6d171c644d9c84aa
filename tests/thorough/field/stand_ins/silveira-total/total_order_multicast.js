// The interface of total_order_multicast.js, and a body of ours: a message waits for all acknowledgements.
import { createConnection, createServer } from 'net';
import { createInterface } from 'readline';

const me = Number(process.argv[2]);
const everyone = [
  { id: 1, port: 8001 },
  { id: 2, port: 8002 },
  { id: 3, port: 8003 },
];
const terminal = createInterface({});
const [sockets, acknowledged, waiting] = [{}, {}, []];
let clock = 0;

function multicast(message) {
  for (const socket of Object.values(sockets)) socket.write(`${JSON.stringify(message)}\n`);
  take(message);
}

function take({ acknowledges, stamp, text }) {
  clock = Math.max(clock, stamp[0]);
  if (acknowledges) acknowledged[acknowledges] = (acknowledged[acknowledges] ?? 0) + 1;
  else {
    waiting.push({ stamp, text });
    waiting.sort((a, b) => a.stamp[0] - b.stamp[0] || a.stamp[1] - b.stamp[1]);
    multicast({ acknowledges: String(stamp), stamp: [(clock += 1), me] });
  }
  const isNext = () => waiting.length && acknowledged[waiting[0].stamp] === everyone.length;
  while (isNext()) console.log(`ENTREGUE: "${waiting.shift().text}" (de)`);
}

function type(text) {
  if (text !== '1') multicast({ text, stamp: [(clock += 1), me] });
  terminal.question('', type);
}

createServer((socket) => socket.on('data', (line) => take(JSON.parse(line)))).listen(8000 + me, '', () => {
  for (const { id, port } of everyone) if (id !== me) sockets[id] = createConnection({ port }, () => {});
  type('1');
});
