// The state space, and runs in it. A run is a list of choices: of each node the number of the move that was taken.
"use strict";

const BEYOND = -1;

/** The moves of a node: what each does, where it leads, and the properties that it breaks, as bits. */
function movesOf(space, node) {
  const flat = space.moves[node] ?? [];
  const moves = [];
  for (let k = 0; k < flat.length; k += 3) moves.push({ step: flat[k], next: flat[k + 1], breaks: flat[k + 2] });
  return moves;
}

/** The moments of a run, from its beginning on: one more than it has choices. A choice that cannot be made ends it. */
function replay(space, choices) {
  const beginning = {
    node: 0, locals: space.initial, broken: 0, breaks: 0, names: new Map(), flight: [], action: null, by: null,
  };
  const moments = [beginning];
  for (const choice of choices) {
    const before = moments[moments.length - 1];
    const move = movesOf(space, before.node)[choice];
    if (move === undefined || move.next === BEYOND) break;
    moments.push(after(space, before, move));
  }
  return moments;
}

/** The moment after a move. */
function after(space, before, move) {
  const names = new Map(before.names);
  const called = (message) => nameOf(space, names, message);
  const action = actionOf(space, move.step, called);
  const locals = [...before.locals];
  if (action.local !== -1) locals[action.process] = action.local;
  const flight = before.flight.filter((each, place) => place !== takenPlace(before.flight, action));
  if (action.packet && action.name === "duplicate") flight.push({ ...action.packet, copy: true });
  flight.push(...action.transmits);
  return { node: move.next, locals, broken: before.broken | move.breaks, breaks: move.breaks & ~before.broken, names,
           flight, action, by: move.step };
}

/** The place of the packet that an action takes from the channel; -1 if it takes none. */
function takenPlace(flight, action) {
  if (!action.packet || action.name === "duplicate") return -1;
  return flight.findIndex((each) => each.id === action.packet.id);
}

/** The name of a message: the program's, or m1, m2, … as the run comes to them. */
function nameOf(space, names, message) {
  if (message === -1) return null;
  if (!names.has(message)) names.set(message, space.messages[message] || `m${names.size + 1}`);
  return names.get(message);
}

/** An action with all names in it. */
function actionOf(space, step, called) {
  const [process, name, message, packet, to, transmits, happened, byChannel, local] = space.steps[step];
  const shown = (id) => {
    const [kind, carried, source, destination] = space.packets[id];
    return { id, kind, message: called(carried), source, destination };
  };
  const named = called(message);
  return {
    process, name, message: named, id: message, packet: packet === -1 ? null : shown(packet), to,
    transmits: transmits.map(shown), happened: happened.map(([kind, which]) => [kind, called(which)]),
    events: happened, byChannel: byChannel === 1, local,
  };
}

/** The choices of a shortest run whose last move breaks a property, or that breaks it by ending; null if none does. */
function shortestViolation(space, bit) {
  const from = new Map([[0, null]]);
  for (const node of from.keys()) { // in the order in which they are added: the nearest first
    if ((space.ends[node] ?? 0) & bit) return choicesTo(from, node);
    const moves = movesOf(space, node);
    for (let choice = 0; choice < moves.length; choice += 1) {
      const { next, breaks } = moves[choice];
      if (breaks & bit) return next === BEYOND ? null : [...choicesTo(from, node), choice];
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

/** The run with one action at another place, as far as that is possible: its choices, and the first action that is not. */
function moved(space, choices, from, to) {
  const steps = replay(space, choices).slice(1).map((moment) => moment.by);
  const order = steps.filter((_, place) => place !== from);
  order.splice(to, 0, steps[from]);
  const made = [];
  let node = 0;
  for (const step of order) {
    if (space.served && !space.moves[node]) return { choices: made, refused: null, missing: node };
    const moves = movesOf(space, node);
    const alike = moves.map((move, choice) => [move, choice])
      .filter(([move]) => move.next !== BEYOND && labelOf(space, move.step) === labelOf(space, step));
    if (alike.length === 0) return { choices: made, refused: step };
    const [move, choice] = alike.find(([each]) => each.step === step) ?? alike[0];
    made.push(choice);
    node = move.next;
  }
  return { choices: made, refused: null };
}

/** The application's events at each process, in order. */
function linesOf(space, moments) {
  const lines = space.processes.map(() => []);
  for (const { action } of moments.slice(1)) {
    action.events.forEach(([kind, message]) => lines[action.process].push(`${kind} ${message}`));
  }
  return lines;
}
