// What the page shows of a run: the strip of orders, what can happen next, what is in flight, the run, local states.
"use strict";

const at = (id) => document.getElementById(id);

function make(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

/** A button; `key` is the same for the one that takes its place, which gets the focus then. */
function button(text, key, attributes, pressed) {
  const made = make("button", text, { ...attributes, "data-key": key });
  made.addEventListener("click", () => act(pressed));
  return made;
}

/** Says something, also to those who do not see the page. */
function announce(text) {
  if (at("said").textContent !== text) at("said").textContent = text;
}

/** Everything anew, for the run as it is. `given`: what is said instead of the last action. */
function show(given = "") {
  const moments = replay(space, choices);
  const now = moments[moments.length - 1], moves = movesOf(space, now.node);
  const focused = document.activeElement?.dataset.key;
  const violation = shownViolation(space, moments, wanted);
  draw(at("diagram"), space, moments, violation, dragging);
  lookAt(at("diagram").querySelector(".events > g:last-child"));
  showStrip(moments);
  showMoves(now, moves);
  showFlight(now, moves);
  showRun(moments);
  showLocals(moments);
  at("back").disabled = !choices.length;
  at("forward").disabled = !undone.length;
  ["json", "itf", "shiviz", "test"].forEach((id) => { at(id).disabled = !choices.length; });
  if (focused) focusOn(focused);
  const violated = now.breaks.map((k) => space.properties[k][0]);
  const what = now.action ? `${say(space, now.action)}. ${violated.length ? `This violates ${violated.join(", ")}. ` : ""}` : "";
  announce(given || `${what}${count(moves.length, "possible action")}.`);
  const why = violation ? `not ${violation.name}: ${violation.says}` : "";
  if (at("why").textContent !== why) at("why").textContent = why;
}

/** Focuses what took the place of what had the focus, or else what can be done next. */
function focusOn(key) {
  const same = document.querySelector(`[data-key="${CSS.escape(key)}"]:not(:disabled)`);
  const next = same ?? at("moves").querySelector("button:not(:disabled)") ?? at("back");
  (next.disabled ? at("again") : next).focus({ preventScroll: true });
}

/** Scrolls the diagram, and nothing else, to where an event can be seen. */
function lookAt(event) {
  if (!event) return;
  const frame = at("frame"), room = 40;
  const seen = frame.getBoundingClientRect(), place = event.getBoundingClientRect();
  const off = (low, high, from, to) => Math.max(0, high + room - to) || Math.min(0, low - room - from);
  frame.scrollTop += off(place.top, place.bottom, seen.top, seen.bottom);
  frame.scrollLeft += off(place.left, place.right, seen.left, seen.right);
}

function showStrip(moments) {
  const violated = new Map(violatedBy(space, moments).map(([name, , place]) => [name, place]));
  const happened = moments.flatMap(({ action }) => action?.happened ?? []);
  const lacks = happened.length ? "" : "no event yet";
  const ordered = happened.some(([kind]) => kind === "deliver") ? "" : lacks || "no delivery yet";
  const items = space.properties.map(([name, meaning], k) => {
    const order = space.orders.includes(name), unknown = unknownHere(space, name, moments.at(-1));
    return [order, stripItem(name, meaning, violated.get(name), k, order ? ordered : lacks, unknown)];
  });
  for (const [id, orders] of [["orders", true], ["properties", false]]) {
    const list = items.filter(([order]) => order === orders).map(([, item]) => item);
    at(id).replaceChildren(...list);
    at(id).parentElement.hidden = !list.length;
  }
}

/** A property, with the place of the action that broke it in this run: -1 is the end of the run, undefined if it is kept.
 * `awaited`: what the run lacks, so that there is nothing to judge. `unknown`: why that it is kept is unknown. */
function stripItem(name, meaning, place, k, awaited, unknown) {
  const item = document.createElement("li");
  const kept = place === undefined;
  const failure = space.failures.includes(name);
  const earned = !awaited && !unknown;
  const keeps = awaited ? `${awaited}, nothing to judge` : unknown ? `unknown: ${unknown}` : failure ? "has not happened in this run" : "kept in this run so far";
  const breaks = failure ? "happened" : "violated";
  const how = kept ? keeps : place === -1 ? `${breaks} if the run ends here` : `${breaks} by action ${place + 1}`;
  item.appendChild(button(`${!kept ? "✗" : earned ? "✓" : awaited ? "·" : "?"} ${name}${kept && earned && failure ? ": not so far" : ""}`, `property-${name}`, {
    class: kept ? (earned ? "kept" : "open") : "violated", title: `${meaning}: ${how}. Click for a shortest run that violates it.`,
    "aria-label": `${name}: ${how}`,
  }, () => goToViolation(k)));
  if (!kept) item.appendChild(make("span", place === -1 ? " at this end" : ` by action ${place + 1}`, { class: "bad", "aria-hidden": "true" }));
  return item;
}

function showMoves(now, moves) {
  const said = moves.map((one) => {
    const action = actionOf(space, one.step, (message) => nameOf(space, new Map(now.names), message));
    return say(space, { ...action, packet: entryOf(space, now.flight, one.step)?.packet ?? action.packet });
  });
  at("moves").replaceChildren(...moves.map((one, choice) => {
    const outcomes = said.filter((text) => text === said[choice]).length;
    const outcome = said.slice(0, choice + 1).filter((text) => text === said[choice]).length;
    const item = document.createElement("li");
    const pressed = item.appendChild(button(said[choice] + (outcomes > 1 ? ` (outcome ${outcome} of ${outcomes})` : ""), `move-${choice}`, {}, () => choose(choice)));
    const breaks = one.breaks.filter((k) => !now.violated.has(k)).map((k) => space.properties[k][0]);
    if (breaks.length) item.appendChild(make("span", ` violates ${breaks.join(", ")}`, { class: "bad" }));
    pressed.disabled = one.next === BEYOND;
    if (pressed.disabled) item.appendChild(make("span", " (leads beyond this page)", { class: "quiet" }));
    return item;
  }));
  const beyond = moves.length && moves.every((one) => one.next === BEYOND);
  at("none").textContent = beyond ? "This page has no states beyond this one; crownless explore --serve computes them." : moves.length ? "" : "Nothing more can happen.";
}

/** The packets in flight, and why those that wait are held back. */
function showFlight(now, moves) {
  const arrivals = moves.map(({ step }) => step).filter((step) => !["lose", "duplicate"].includes(space.steps[step][1]));
  const taken = new Set(arrivals.flatMap((step) => mayTake(space, now.flight, step)));
  const queues = space.steps.some(([, name]) => name === "receive"); // over FIFO channels packets wait there, else on the channel
  at("flight").replaceChildren(...now.flight.map((entry, k) => {
    const { packet, place } = entry;
    const twin = now.flight.slice(k + 1).some((other) => other.packet === packet && other.place === "copy");
    const item = make("li", sayPacket(space, packet, place === "copy" && !twin));
    const guard = space.guards[`${now.locals[packet.destination]},${packet.id}`];
    const arrived = place === "queue";
    const held = guard !== undefined && (arrived || !queues);
    const waits = held ? "held back" : taken.has(entry) ? "" : "cannot be received yet";
    const where = [arrived ? "in the hold-back queue" : "", waits].filter(Boolean);
    if (where.length) item.appendChild(make("span", `, ${where.join(", ")}`, { class: "waits" }));
    if (held && guard.length) {
      const lines = item.appendChild(document.createElement("ul"));
      guard.forEach((line) => lines.appendChild(make("li", line, line.endsWith(": no") ? { class: "bad" } : {})));
    }
    return item;
  }));
  at("empty").textContent = now.flight.length ? "" : "Nothing is in flight.";
}

function showRun(moments) {
  at("run").replaceChildren(...moments.slice(1).map(({ action, breaks }, place) => {
    const item = document.createElement("li");
    item.appendChild(button(say(space, action), `run-${place}`, { class: "plain", title: "go back to here" }, () => {
      undone = [];
      return go(choices.slice(0, place + 1));
    }));
    const violated = breaks.map((k) => space.properties[k][0]);
    if (violated.length) item.appendChild(make("span", ` violates ${violated.join(", ")}`, { class: "bad" }));
    [["earlier", -1, "↑"], ["later", 1, "↓"]].forEach(([name, by, sign]) => {
      const to = place + by;
      const pressed = item.appendChild(button(sign, `${name}-${place}`, { class: "small", "aria-label": `${name}: ${say(space, action)}`, title: name }, async () => {
        await move(place, to);
        if (document.activeElement?.dataset.key === `${name}-${place}`) focusOn(`${name}-${to}`);
      }));
      pressed.disabled = to < 0 || to >= choices.length;
    });
    return item;
  }));
}

const shownLocals = [];

/** The local states, those anew that have changed. */
function showLocals(moments) {
  const now = moments[moments.length - 1], before = moments[Math.max(moments.length - 2, 0)];
  const text = (cell) => cell.split("\0").map((part, k) => (k % 2 ? nameOf(space, new Map(now.names), Number(part)) : part)).join("");
  space.processes.forEach((name, p) => {
    const shown = space.locals[now.locals[p]].map(([variable, rows]) => ({ name: variable, rows: rows.map((row) => row.map(text)) }));
    const was = new Map(space.locals[before.locals[p]]);
    const places = space.locals[now.locals[p]].map(([variable, rows]) => changedPlaces(was.get(variable) ?? [], rows));
    const content = JSON.stringify([shown, places.map((each) => [...each])]);
    if (shownLocals[p] === content) return;
    shownLocals[p] = content;
    const section = make("section");
    section.append(make("h3", name), ...shown.map((variable, k) => tableOf(variable, places[k], space.processes)));
    if (at("locals").children[p]) at("locals").children[p].replaceWith(section);
    else at("locals").appendChild(section);
  });
  // A state that is always the same, as where all are empty, says nothing.
  at("states").hidden = new Set(space.locals.map((variables) => JSON.stringify(variables))).size < 2;
}
