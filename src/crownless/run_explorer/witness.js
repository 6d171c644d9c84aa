// Why a run violates a property: the messages and events that show it. That it violates it, the engine says.
"use strict";

/** The violations that are shown of themselves, the first first: what an application would notice. */
const NOTICED = ["fifo", "causal", "total", "delivers-once", "delivers-all", "synchronous"];

/** The properties of runs that go on to their end. */
const LIVE = ["delivers-all", "never-blocks"];

/** What the application sees of a run: its sends and deliveries. `before`: events by one step before each, along the line
 * of its process as far as it goes, or from the send of its message, which may come later in the run. */
function applicationEvents(moments) {
  const events = moments.slice(1).flatMap(({ action }, place) => action.happened
    .filter(([kind]) => kind === "send" || kind === "deliver")
    .map(([kind, message]) => ({ process: action.process, kind, message, place, to: receiversOf(moments, message) })));
  const sends = new Map(events.flatMap(({ kind, message }, e) => (kind === "send" ? [[message, e]] : [])));
  const lines = new Map();
  events.forEach((event, e) => {
    const line = lines.get(event.process) ?? [];
    event.before = event.kind === "deliver" && sends.has(event.message) ? [...line, sends.get(event.message)] : line;
    lines.set(event.process, [...line, e]);
  });
  return events;
}

/** Of each event the events that happened before it, and itself. */
function pasts(events) {
  return events.map((_, e) => {
    const past = new Set([e]);
    for (const each of past) events[each].before.forEach((before) => past.add(before));
    return past;
  });
}

/** The receivers of a message, which the action that submits it names. */
function receiversOf(moments, message) {
  return moments.slice(1).find(({ action }) => action.message === message && action.to.length)?.action.to ?? [];
}

/** The emphasis on what violates a property: in words, the messages, with the receivers on which it rests (`legs`, "message
 * receiver"; of all, if it has none), and pairs of events of one process; or null. */
function emphasisOf(space, moments, property) {
  const events = applicationEvents(moments);
  const find = { fifo: overtaking, causal: overtaking, total: disagreement, synchronous: crown, "delivers-once": twice, "delivers-all": missing }[property];
  return find ? find(space, events, property, moments) : null;
}

/** The emphasis on what a run breaks: a property that is asked for, if it does, or the one that is noticed first, of a
 * protocol only of those that it promises. */
function shownViolation(space, moments, wanted) {
  const violated = violatedBy(space, moments).map(([name]) => name);
  const matters = (name) => name === wanted || space.check === null || space.promised.includes(name);
  const names = [wanted, ...NOTICED].filter((name) => violated.includes(name) && matters(name));
  for (const name of names) {
    const found = emphasisOf(space, moments, name);
    if (found) return { name, ...found };
  }
  return null;
}

/** A message that is delivered though one that was sent before it to the same process is not: with the shortest chain. */
function overtaking(space, events, order) {
  let shortest = null;
  for (const [second, { kind, process, message }] of events.entries()) {
    const send = events.findIndex((each) => each.kind === "send" && each.message === message);
    if (kind !== "deliver" || send === -1) continue;
    const delivered = new Set(events.slice(0, second).filter((each) => each.kind === "deliver" && each.process === process).map((each) => each.message));
    const overtaken = (e) => e !== send && events[e].kind === "send" && events[e].to.includes(process) && !delivered.has(events[e].message);
    const chain = backwards(events, send, (e) => overtaken(e) && (order !== "fifo" || events[e].process === events[send].process));
    if (chain !== null && (shortest === null || chain.length < shortest.chain.length)) shortest = { chain, second };
  }
  return shortest && sayOvertaking(space, events, shortest);
}

function sayOvertaking(space, events, { chain, second }) {
  const { process, message } = events[second], first = events[chain[0]].message;
  const later = events.findIndex((each) => each.kind === "deliver" && each.process === process && each.message === first);
  const pairs = chain.slice(1).map((e, k) => [events[chain[k]], events[e]]);
  if (later !== -1) pairs.push([events[second], events[later]]);
  const what = later === -1 ? `${message} and not ${first}` : `${message} before ${first}`;
  const received = chain.map((e) => events[e]).filter(({ kind }) => kind === "deliver");
  const legs = new Set([`${first} ${process}`, `${message} ${process}`, ...received.map((event) => `${event.message} ${event.process}`)]);
  return { says: `${space.processes[process]} receives ${what}, which was sent earlier`,
           messages: new Set([first, ...chain.map((e) => events[e].message), message]), legs, pairs };
}

/** The shortest chain of events to one of them from an event that is wanted; null if there is none. */
function backwards(events, end, wanted) {
  const next = new Map([[end, null]]);
  for (const e of next.keys()) {
    if (wanted(e)) {
      const chain = [];
      for (let at = e; at !== null; at = next.get(at)) chain.push(at);
      return chain;
    }
    events[e].before.forEach((before) => { if (!next.has(before)) next.set(before, e); });
  }
  return null;
}

/** A smallest crown: messages, the send of each before a receive of the next, in a cycle. A receive that is still to come
 * is after all that its process has done. */
function crown(space, events) {
  const past = pasts(events);
  const sends = events.flatMap((event, e) => (event.kind === "send" ? [e] : []));
  const receives = new Map(sends.map((send) => [send, events[send].to.map((q) => receiveAt(events, past, send, q))]));
  const link = (one, other) => receives.get(other).find((receive) => receive.past.has(one));
  const followers = new Map(sends.map((one) => [one, sends.filter((other) => other !== one && link(one, other))]));
  const smallest = smallestCycle(followers);
  if (smallest === null) return null;
  const links = smallest.map((one, k) => [one, smallest[(k + 1) % smallest.length]]);
  const pending = links.filter(([one, other]) => link(one, other).event === null).map(([, other]) => events[other].message);
  const still = pending.length ? `, ${pending.join(" and ")} still to be received` : "";
  const pairs = links.filter(([one, other]) => link(one, other).event).map(([one, other]) => [events[one], link(one, other).event]);
  const legs = new Set(links.map(([one, other]) => `${events[other].message} ${link(one, other).process}`));
  return { says: `crown of size ${smallest.length}${still}`, messages: new Set(smallest.map((e) => events[e].message)), legs, pairs };
}

function receiveAt(events, past, send, q) {
  const e = events.findIndex(({ kind, process, message }) => kind === "deliver" && process === q && message === events[send].message);
  if (e !== -1) return { event: events[e], process: q, past: past[e] };
  const line = events.flatMap((event, f) => (event.process === q ? [...past[f]] : []));
  return { event: null, process: q, past: new Set([...line, ...past[send]]) };
}

/** Messages that processes deliver in no common order: a smallest cycle. One that is not delivered yet is later than all
 * that are. */
function disagreement(space, events) {
  const delivery = (q, { message }) => events.find((each) => each.kind === "deliver" && each.process === q && each.message === message);
  const place = (event) => (event ? events.indexOf(event) : Infinity);
  const sends = events.filter(({ kind }) => kind === "send");
  const link = (one, other) => one.to.find((q) => other.to.includes(q) && place(delivery(q, one)) < place(delivery(q, other)));
  const smallest = smallestCycle(new Map(sends.map((one) => [one, sends.filter((other) => link(one, other) !== undefined)])));
  if (smallest === null) return null;
  const links = smallest.map((one, k) => [link(one, smallest[(k + 1) % smallest.length]), one, smallest[(k + 1) % smallest.length]]);
  const says = links.map(([q, one, other]) => `${space.processes[q]} delivers ${one.message} ${delivery(q, other) ? "before" : "and not"} ${other.message}`);
  return { says: says.join(", "), messages: new Set(smallest.map(({ message }) => message)),
           legs: new Set(links.flatMap(([q, one, other]) => [`${one.message} ${q}`, `${other.message} ${q}`])),
           pairs: links.map(([q, one, other]) => [delivery(q, one), delivery(q, other)]).filter(([, other]) => other) };
}

/** A smallest cycle of all; null if there is none. */
function smallestCycle(followers) {
  return [...followers.keys()].map((start) => shortestCycle(followers, start)).filter(Boolean)
    .reduce((least, cycle) => (least && least.length <= cycle.length ? least : cycle), null);
}

/** A shortest cycle from a number on, in the order of its links; null if there is none. */
function shortestCycle(followers, start) {
  const from = new Map(), nearest = [start];
  for (const one of nearest) {
    for (const other of followers.get(one)) {
      if (from.has(other)) continue;
      from.set(other, one);
      nearest.push(other);
    }
  }
  if (!from.has(start)) return null;
  const cycle = [start];
  for (let one = from.get(start); one !== start; one = from.get(one)) cycle.splice(1, 0, one);
  return cycle;
}

/** A message that is delivered twice at one process. */
function twice(space, events) {
  const again = events.find(({ kind, process, message }, e) => kind === "deliver"
    && events.slice(0, e).some((each) => each.kind === kind && each.process === process && each.message === message));
  return again ? { says: `${space.processes[again.process]} delivers ${again.message} twice`, messages: new Set([again.message]), legs: new Set([`${again.message} ${again.process}`]), pairs: [] } : null;
}

/** Messages that are not delivered where they should be, also those that the application only submitted; but for those from
 * and to a process that has crashed. */
function missing(space, events, _, moments) {
  const delivered = new Set(events.filter(({ kind }) => kind === "deliver").map(({ process, message }) => `${process} ${message}`));
  const actions = moments.slice(1).map(({ action }) => action);
  const crashed = new Set(actions.filter(({ name, byChannel }) => byChannel && name === "crash").map(({ process }) => process));
  const owed = actions.filter(({ process }) => !crashed.has(process)).flatMap(({ message, to }) => to.map((q) => [message, q]))
    .filter(([message, q]) => !delivered.has(`${q} ${message}`) && !crashed.has(q));
  if (!owed.length) return null;
  return { says: `never delivered: ${owed.map(([message, q]) => `${message} at ${space.processes[q]}`).join(", ")}`,
           messages: new Set(owed.map(([message]) => message)), legs: new Set(owed.map(([message, q]) => `${message} ${q}`)), pairs: [] };
}
