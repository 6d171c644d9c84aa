// The page: what can happen next, the run so far, local states, and the orders that are still kept.
"use strict";

const space = JSON.parse(document.getElementById("space").textContent);
const at = (id) => document.getElementById(id);
let choices = [], undone = [], wanted = null;

function make(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

/** The moves of a node, from where the page is from. */
async function load(node) {
  const known = ["messages", "packets", "steps", "locals"].map((name) => `${name}=${space[name].length}`);
  const answer = await fetch(`more?node=${node}&${known.join("&")}&guards=${Object.keys(space.guards).length}`);
  const more = await answer.json();
  if (more.error) throw new Error(more.error);
  for (const name of ["messages", "packets", "steps", "locals"]) space[name].push(...more[name]);
  Object.assign(space.guards, more.guards);
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
  if (!space.served) { what(); return; }
  last = last.then(what).catch((error) => { at("said").textContent = `${error.message}`; });
}

function go(next, said = "") {
  return space.served ? loadFor(next).then(() => arrive(next, said)) : arrive(next, said);
}

function arrive(next, given) {
  const whole = replay(space, next).length === next.length + 1;
  const said = given ?? (whole ? "" : "The rest of the run in the address is none of this page.");
  choices = replay(space, next).length === next.length + 1 ? next : next.slice(0, replay(space, next).length - 1);
  history.replaceState(null, "", `#run=${choices.join(".")}`);
  show(said);
}

function choose(choice) {
  const moments = replay(space, choices);
  const move = movesOf(space, moments[moments.length - 1].node)[choice];
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

async function move(from, to) {
  if (to < 0 || to >= choices.length || to === from) return;
  const before = replay(space, choices);
  let { choices: made, refused, missing } = moved(space, choices, from, to);
  while (missing !== undefined) {
    await load(missing);
    ({ choices: made, refused, missing } = moved(space, choices, from, to));
  }
  if (space.served) await loadFor(made);
  undone = [];
  if (refused !== null) {
    const names = before[before.length - 1].names;
    show(sayMoved(space, before, before, say(space, actionOf(space, refused, (m) => nameOf(space, new Map(names), m)))));
    return;
  }
  arrive(made, sayMoved(space, before, replay(space, made), null));
}

/** Scrolls the diagram, and nothing else, to where an event can be seen. */
function lookAt(event) {
  if (!event) return;
  const frame = at("diagram").parentElement, room = 40;
  const seen = frame.getBoundingClientRect(), place = event.getBoundingClientRect();
  const off = (low, high, from, to) => Math.max(0, high + room - to) || Math.min(0, low - room - from);
  frame.scrollTop += off(place.top, place.bottom, seen.top, seen.bottom);
  frame.scrollLeft += off(place.left, place.right, seen.left, seen.right);
}

/** Everything anew, for the run as it is. */
function show(said = "") {
  const moments = replay(space, choices);
  const now = moments[moments.length - 1], moves = movesOf(space, now.node);
  const violation = shownViolation(space, moments, wanted);
  draw(at("diagram"), space, moments, violation, dragging);
  lookAt(at("diagram").querySelector(".events > g:last-child"));
  at("why").textContent = violation ? `not ${violation.name}: ${violation.says}` : "";
  showOrders(moments);
  at("moves").replaceChildren(...moves.map((one, choice) => {
    const action = actionOf(space, one.step, (message) => nameOf(space, new Map(now.names), message));
    const item = document.createElement("li");
    const button = item.appendChild(make("button", say(space, action)));
    const breaks = space.properties.filter((_, k) => one.breaks & ~now.broken & (1 << k)).map(([name]) => name);
    if (breaks.length) item.appendChild(make("span", ` breaks ${breaks.join(", ")}`, { class: "bad" }));
    button.disabled = one.next === BEYOND;
    if (button.disabled) item.appendChild(make("span", " (leads beyond this page)", { class: "quiet" }));
    button.addEventListener("click", () => act(() => choose(choice)));
    return item;
  }));
  at("none").textContent = moves.length ? "" : "Nothing more can happen.";
  showFlight(now, moves);
  at("run").replaceChildren(...moments.slice(1).map(({ action, breaks }, place) => {
    const item = document.createElement("li");
    const words = item.appendChild(make("button", say(space, action), { class: "plain", title: "go back to here" }));
    words.addEventListener("click", () => act(() => { undone = []; return go(choices.slice(0, place + 1)); }));
    const broken = space.properties.filter((_, k) => breaks & (1 << k)).map(([name]) => name);
    if (broken.length) item.appendChild(make("span", ` breaks ${broken.join(", ")}`, { class: "bad" }));
    [["earlier", -1, "↑"], ["later", 1, "↓"]].forEach(([name, by, sign]) => {
      const button = item.appendChild(make("button", sign, { class: "small", "aria-label": `${name}: ${say(space, action)}`, title: name }));
      button.disabled = place + by < 0 || place + by >= choices.length;
      button.addEventListener("click", () => act(() => move(place, place + by)));
    });
    return item;
  }));
  showLocals(moments);
  at("back").disabled = !choices.length;
  at("forward").disabled = !undone.length;
  at("said").textContent = said || (now.action ? `${say(space, now.action)}. ` : "") + `${moves.length} possible ${moves.length === 1 ? "action" : "actions"}.`;
}

function showOrders(moments) {
  const broken = new Map(brokenBy(space, moments).map(([name, , place]) => [name, place]));
  const items = space.properties.map(([name, meaning], k) => [space.orders.includes(name), stripItem(name, meaning, broken.get(name), k)]);
  for (const [id, orders] of [["orders", true], ["properties", false]]) {
    const list = items.filter(([order]) => order === orders).map(([, item]) => item);
    at(id).replaceChildren(...list);
    at(id).parentElement.hidden = !list.length;
  }
}

/** A property, with the place of the action that broke it: -1 is the end of the run, undefined if it is kept. */
function stripItem(name, meaning, place, k) {
  const item = document.createElement("li");
  const kept = place === undefined;
  const how = kept ? "kept" : place === -1 ? "broken if the run ends here" : `broken by action ${place + 1}`;
  const button = item.appendChild(make("button", `${kept ? "✓" : "✗"} ${name}`, { class: kept ? "kept" : "broken", title: `${meaning}: ${how}. Click for a shortest run that breaks it.`, "aria-label": `${name}: ${how}` }));
  if (!kept) item.appendChild(make("span", place === -1 ? " at this end" : ` by action ${place + 1}`, { class: "bad", "aria-hidden": "true" }));
  button.addEventListener("click", () => act(() => {
    const shortest = shortestViolation(space, 1 << k);
    wanted = name;
    if (shortest === null) return show(`No run ${space.beyond ? "on this page " : ""}breaks ${name}.`);
    undone = [];
    return go(shortest, `The shortest run that breaks ${name}: ${shortest.length} ${shortest.length === 1 ? "action" : "actions"}.`);
  }));
  return item;
}

/** The packets in flight, and why those that wait are held back. */
function showFlight(now, moves) {
  const deliverable = new Set(moves.map(({ step }) => space.steps[step][3]));
  at("flight").replaceChildren(...now.flight.map((packet) => {
    const item = make("li", sayPacket(space, packet));
    if (deliverable.has(packet.id)) return item;
    const guard = space.guards[`${now.locals[packet.destination]},${packet.id}`];
    item.appendChild(make("span", guard ? " is held back" : " cannot arrive yet", { class: "waits" }));
    if (guard && guard.length) {
      const lines = item.appendChild(document.createElement("ul"));
      guard.forEach((line, k) => lines.appendChild(make("li", line, k === guard.length - 1 ? { class: "bad" } : {})));
    }
    return item;
  }));
  at("empty").textContent = now.flight.length ? "" : "Nothing is in flight.";
}

function showLocals(moments) {
  const now = moments[moments.length - 1], before = moments[Math.max(moments.length - 2, 0)];
  const text = (cell) => cell.split("\0").map((part, k) => (k % 2 ? nameOf(space, new Map(now.names), Number(part)) : part)).join("");
  at("locals").replaceChildren(...space.processes.map((name, p) => {
    const section = document.createElement("section");
    section.appendChild(make("h3", name));
    const was = new Map(space.locals[before.locals[p]]);
    space.locals[now.locals[p]].forEach(([variable, rows]) => {
      const old = was.get(variable) ?? [];
      const shown = { name: variable, rows: rows.map((row) => row.map(text)) };
      section.appendChild(tableOf(shown, (r, k) => (old[r] ?? [])[k] !== rows[r][k], space.processes));
    });
    return section;
  }));
  // A state that is always the same, as where all are empty, says nothing.
  at("states").hidden = new Set(space.locals.map((variables) => JSON.stringify(variables))).size < 2;
}

/** An event can be dragged up or down: its action moves in the run. */
function dragging(group, event, events, row) {
  let from = null;
  const end = () => {
    from = null;
    group.removeAttribute("transform");
    group.classList.remove("dragged");
  };
  const rows = (pointer) => Math.round((pointer.clientY - from) / row);
  group.addEventListener("pointerdown", (pointer) => {
    from = pointer.clientY;
    group.setPointerCapture(pointer.pointerId);
    group.classList.add("dragged");
  });
  group.addEventListener("pointermove", (pointer) => {
    if (from !== null) group.setAttribute("transform", `translate(0 ${rows(pointer) * row})`);
  });
  group.addEventListener("pointercancel", end);
  group.addEventListener("pointerup", (pointer) => {
    if (from === null) return;
    const to = Math.max(0, Math.min(events.length - 1, event.row + rows(pointer)));
    end();
    act(() => move(event.place, events[to].place));
  });
}

const KEYS = { ArrowLeft: back, Backspace: back, ArrowRight: forward, Home: () => { undone = []; return go([]); } };
document.addEventListener("keydown", (pressed) => {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
  const number = Number(pressed.key);
  if (number >= 1 && number <= 9) act(() => choose(number - 1));
  else if (KEYS[pressed.key]) act(KEYS[pressed.key]);
  else return;
  pressed.preventDefault();
});

at("back").addEventListener("click", () => act(back));
at("forward").addEventListener("click", () => act(forward));
at("again").addEventListener("click", () => act(KEYS.Home));
const SAVED = { json: ["run.json", asJson], itf: ["run.itf.json", asItf], shiviz: ["run.shiviz", asShiViz], test: ["test_run.py", asTest] };
Object.entries(SAVED).forEach(([id, [file, write]]) => {
  at(id).addEventListener("click", () => download(file, write(space, replay(space, choices))));
});

function fromAddress() {
  const given = /^#run=([\d.]*)$/.exec(location.hash);
  const wanted = given ? given[1].split(".").filter(Boolean).map(Number) : space.start;
  undone = [];
  return go(wanted, null);
}
window.addEventListener("hashchange", () => act(fromAddress));
act(fromAddress);
