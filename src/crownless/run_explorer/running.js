// The run as it is: choices that were made, how to change them, and the address that has them.
"use strict";

const space = JSON.parse(document.getElementById("space").textContent);
const TABLES = ["effects", "messages", "packets", "steps", "locals"], BY_NAME = ["guards", "pending"];
let choices = [], undone = [], wanted = null;

/** An answer of the server that this page is from. */
async function request(path, numbers) {
  const query = Object.entries({ ...numbers, session: space.session }).map(([name, value]) => `${name}=${value}`);
  let answer;
  try {
    answer = await (await fetch(`${path}?${query.join("&")}`)).json();
  } catch {
    throw new Error("No answer: is the command that serves this page still running?");
  }
  if (answer.error) throw new Error(answer.error);
  return answer;
}

/** The moves of a node, from where the page is from. */
async function load(node) {
  const known = Object.fromEntries(TABLES.map((name) => [name, space[name].length]));
  for (const name of BY_NAME) known[name] = Object.keys(space[name]).length;
  const more = await request("more", { node, ...known });
  for (const name of TABLES) space[name].push(...more[name]);
  for (const name of BY_NAME) Object.assign(space[name], more[name]);
  space.moves[node] = more.moves;
  if (more.ends) space.ends[node] = more.ends;
}

/** Loads what is needed to show a run. */
async function loadFor(list) {
  for (;;) {
    const { node } = replay(space, list).at(-1);
    if (space.moves[node]) return;
    await load(node);
  }
}

let last = Promise.resolve();

/** Does one thing after the other, where something may have to be loaded; else at once. */
function act(what) {
  if (!space.session) { what(); return; }
  last = last.then(what).catch((error) => { announce(error.message); });
}

/** Goes to a run. `given`: what is said of it instead of its last action. */
function go(next, given = "", keep = false) {
  return space.session ? loadFor(next).then(() => arrive(next, given, keep)) : arrive(next, given, keep);
}

function arrive(next, given, keep) {
  const length = replay(space, next).length - 1;
  choices = next.slice(0, length);
  const address = `#run=${choices.join(".")}&page=${space.id}`;
  if (keep) history.replaceState(null, "", address);
  else if (location.hash !== address) history.pushState(null, "", address);
  show(length < next.length ? `The run is longer than this page covers: ${count(next.length - length, "action")} left out.` : given);
}

function choose(choice) {
  const { node } = replay(space, choices).at(-1);
  const move = movesOf(space, node)[choice];
  if (move === undefined || move.next === BEYOND) return undefined;
  if (undone[undone.length - 1] !== choice) undone = [];
  else undone.pop();
  return go([...choices, choice]);
}

function back() {
  if (!choices.length) return undefined;
  undone.push(choices[choices.length - 1]);
  return go(choices.slice(0, -1));
}

function forward() {
  return undone.length ? choose(undone[undone.length - 1]) : undefined;
}

function restart() {
  undone = [];
  return go([]);
}

/** Moves an action to another place in the run, if it can happen there. */
async function move(from, to) {
  if (to < 0 || to >= choices.length || to === from) return;
  const before = replay(space, choices);
  let made = moved(space, choices, from, to);
  while (made.missing !== undefined) {
    await load(made.missing);
    made = moved(space, choices, from, to);
  }
  if (made.refused !== undefined) {
    show(sayRefused(say(space, made.refused), made.beyond));
    return;
  }
  if (space.session) await loadFor(made.choices);
  undone = [];
  arrive(made.choices, sayMoved(space, before, replay(space, made.choices)), false);
}

/** Goes to a shortest run that violates the property of that number, or says that there is none. */
async function goToViolation(number) {
  const [name] = space.properties[number];
  let shortest = null, unknown = space.undecided[name];
  if (space.session) {
    announce("Searching…");
    const found = await request("shortest", { property: number });
    shortest = found.choices;
    unknown = found.unknown;
  } else {
    shortest = shortestViolation(space, number);
  }
  wanted = name;
  if (shortest === null) { show(sayNone(space, name, unknown)); return; }
  undone = [];
  await go(shortest, `A shortest run that violates ${name}: ${count(shortest.length, "action")}.`);
}

/** Goes to the run in the address, or else to that with which the page begins. */
function goToAddress() {
  undone = [];
  if (!location.hash) return go(space.start, space.shows && `This is ${space.shows}: step back through it with ←, or go to the beginning and choose.`, true);
  const given = /^#run=((?:\d+(?:\.\d+)*)?)(?:&page=(\w+))?$/.exec(location.hash);
  if (given === null) return go(space.start, "The address contains no readable run.", true);
  if (given[2] && given[2] !== space.id) return go(space.start, "The run in the address belongs to another page.", true);
  return go(given[1].split(".").filter(Boolean).map(Number), "", true);
}
