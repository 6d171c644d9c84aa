// The state space, and runs in it. A run is a list of choices: of each node the number of the move that was taken.
"use strict";

const BEYOND = -1;

/** The column of a step in which stands where its packet was: on its "link", there as a "copy", or in the hold-back "queue". */
const PLACE = 9;

/** The moves of a node: what each does, where it leads, and the properties that it breaks, by their numbers. */
function movesOf(space, node) {
  const flat = space.moves[node] ?? [];
  const moves = [];
  for (let k = 0; k < flat.length; k += 3) moves.push({ step: flat[k], next: flat[k + 1], breaks: space.effects[flat[k + 2]] });
  return moves;
}

/** The properties that a run violates by ending at a node. */
function violatedAtEnd(space, node) {
  return space.effects[space.ends[node] ?? 0];
}

/** The moments of a run, from its beginning on: one more than it has choices. A choice that cannot be made ends it. */
function replay(space, choices) {
  const moments = [beginning(space)];
  for (const choice of choices) {
    const before = moments[moments.length - 1];
    const move = movesOf(space, before.node)[choice];
    if (move === undefined || move.next === BEYOND) break;
    moments.push(after(space, before, move));
  }
  return moments;
}

/** The beginning of a run. `transmitted`: how many packets each link has had, and those that look alike, of all the run. */
function beginning(space) {
  const transmitted = { links: new Map(), alike: new Map() };
  return { node: 0, locals: space.initial, violated: new Set(), breaks: [], names: new Map(), flight: [], action: null, by: null, transmitted };
}

/** The moment after a move. `wanted`: of packets that are interchangeable, the one that it takes; else the first. */
function after(space, before, move, wanted = null) {
  const names = new Map(before.names);
  const action = actionOf(space, move.step, (message) => nameOf(space, names, message));
  const entry = wanted ? mayTake(space, before.flight, move.step).find((each) => each.packet === wanted) : entryOf(space, before.flight, move.step);
  action.packet = entry ? entry.packet : action.packet;
  action.transmits.forEach((packet) => identify(packet, before.transmitted));
  const flight = [...flightAfter(before.flight, action, entry), ...action.transmits.map((packet) => ({ packet, place: "link" }))];
  compare(space, flight);
  const locals = [...before.locals];
  if (action.local !== -1) locals[action.process] = action.local;
  return { node: move.next, locals, violated: new Set([...before.violated, ...move.breaks]),
           breaks: move.breaks.filter((k) => !before.violated.has(k)), names, flight, action, by: move.step, transmitted: before.transmitted };
}

/** The packets in flight that a step may take: several if nothing depends on which of these it is. */
function mayTake(space, flight, step) {
  const id = space.steps[step][3], place = space.steps[step][PLACE];
  const equal = flight.filter((each) => each.packet.id === id && each.place === place);
  return space.keeps_order ? equal.slice(0, 1) : equal;
}

/** The packet in flight that a step takes: of equal ones at one place the first transmitted. */
function entryOf(space, flight, step) {
  return mayTake(space, flight, step)[0];
}

/** What is in flight after an action took a packet: on its link, as a copy, or in the hold-back queue of its destination. */
function flightAfter(flight, action, entry) {
  if (!entry) return flight;
  const left = arrivesOnly(action) ? [{ ...entry, place: "queue" }]
    : action.name === "duplicate" && action.byChannel ? [1, 2].map(() => ({ ...entry, place: "copy" })) : [];
  return flight.flatMap((each) => (each === entry ? left : [each]));
}

/** Numbers a packet: on its link, and among those there that look alike, of the same kind and with the same message. */
function identify(packet, { links, alike }) {
  const link = `${packet.source} ${packet.destination}`, key = JSON.stringify([link, packet.kind, packet.message]);
  if (!alike.has(key)) alike.set(key, { size: 0, confusable: false });
  links.set(link, (links.get(link) ?? 0) + 1);
  packet.alike = alike.get(key);
  packet.alike.size += 1;
  Object.assign(packet, { number: links.get(link), place: packet.alike.size });
}

/** Notes which packets in flight look alike, and are not interchangeable. */
function compare(space, flight) {
  flight.forEach(({ packet, place }, k) => flight.slice(0, k).forEach((other) => {
    if (other.packet === packet || other.packet.alike !== packet.alike) return;
    if (space.keeps_order || other.packet.id !== packet.id || other.place !== place) packet.alike.confusable = true;
  }));
}

/** True of the arrival of a packet that waits in the hold-back queue: the process does nothing yet. */
function arrivesOnly(action) {
  return action.name === "receive" && !action.byChannel;
}

/** The name of a message: the program's, or m1, m2, … as the run comes to them. */
function nameOf(space, names, message) {
  if (message === -1) return null;
  if (!names.has(message)) names.set(message, space.messages[message] || `m${names.size + 1}`);
  return names.get(message);
}

/** An action with all names in it. */
function actionOf(space, step, called) {
  const [process, name, message, packet, to, transmits, happened, byChannel, local, , outcome] = space.steps[step];
  const shown = (id) => {
    const [kind, carried, source, destination, control] = space.packets[id];
    return { id, kind, message: called(carried), source, destination, control: control === 1 };
  };
  const named = called(message);
  return {
    process, name, message: named, packet: packet === -1 ? null : shown(packet), to,
    transmits: transmits.map(shown), happened: happened.map(([kind, which]) => [kind, called(which)]),
    events: happened, byChannel: byChannel === 1, local, outcome,
  };
}

/** The choices of a shortest run whose last move violates a property, or that violates it by ending; null if none does. */
function shortestViolation(space, property) {
  const from = new Map([[0, null]]);
  for (const node of from.keys()) { // in the order in which they are added: the nearest first
    if (violatedAtEnd(space, node).includes(property)) return choicesTo(from, node);
    const moves = movesOf(space, node);
    for (let choice = 0; choice < moves.length; choice += 1) {
      const { next, breaks } = moves[choice];
      if (breaks.includes(property) && next !== BEYOND) return [...choicesTo(from, node), choice];
      if (next !== BEYOND && !from.has(next)) from.set(next, [node, choice]);
    }
  }
  return null;
}

function choicesTo(from, node) {
  const choices = [];
  for (let came = from.get(node); came; came = from.get(came[0])) choices.unshift(came[1]);
  return choices;
}

/** What an action is, wherever in a run it stands. */
function labelOf(space, step) {
  const [process, name, message, packet, to] = space.steps[step];
  const [kind, carried, source] = packet === -1 ? ["", -1, -1] : space.packets[packet];
  return JSON.stringify([process, name, message, to, kind, carried, source]);
}

/** The run with one action at another place: its choices as far as they go; the action that is `refused` there, if one
 * is, with whether it only leads `beyond` the page; or a node whose moves are `missing` from the page so far. An arrival
 * is that of the same packet: of the one that the same action transmits. */
function moved(space, choices, from, to) {
  const order = replay(space, choices).slice(1);
  order.splice(to, 0, ...order.splice(from, 1));
  const made = [], now = new Map();
  let moment = beginning(space);
  for (const { by: step, action } of order) {
    if (space.session && !space.moves[moment.node]) return { choices: made, missing: moment.node };
    const wanted = action.packet && now.get(action.packet);
    const alike = movesOf(space, moment.node).map((move, choice) => ({ ...move, choice }))
      .filter((move) => labelOf(space, move.step) === labelOf(space, step))
      .filter((move) => !action.packet || mayTake(space, moment.flight, move.step).some((each) => each.packet === wanted));
    const there = alike.filter((move) => move.next !== BEYOND);
    if (there.length === 0) return { choices: made, refused: action, beyond: alike.length > 0 };
    const move = there.find((each) => each.step === step) ?? there[0];
    made.push(move.choice);
    moment = after(space, moment, move, wanted);
    action.transmits.forEach((packet, k) => now.set(packet, moment.action.transmits[k]));
  }
  return { choices: made };
}

/** The application's events at each process, in order. */
function linesOf(space, moments) {
  const lines = space.processes.map(() => []);
  for (const { action } of moments.slice(1)) {
    action.events.forEach(([kind, message]) => lines[action.process].push(`${kind} ${message}`));
  }
  return lines;
}

/** The properties that a run breaks, each with its meaning and the place of the action that broke it; -1 is its end. */
function violatedBy(space, moments) {
  const last = moments[moments.length - 1];
  return space.properties.flatMap(([name, meaning], k) => {
    if (last.violated.has(k)) return [[name, meaning, moments.findIndex((moment) => moment.breaks.includes(k)) - 1]];
    return violatedAtEnd(space, last.node).includes(k) ? [[name, meaning, -1]] : [];
  });
}
