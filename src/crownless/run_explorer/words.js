// Actions and moments in words.
"use strict";

/** The action without its process and effects: "send m1 to P3". */
function deed(space, action) {
  const { packet } = action;
  const which = packet ? whichOf(packet) : "";
  let named = action.message ?? "", origin = packet ? ` from ${space.processes[packet.source]}` : "";
  if (packet && action.byChannel) named = labelOfPacket(packet);
  else if (named || action.name !== "receive") named = `${named}${which}`.trim();
  else if (which) origin += ` (${labelOfPacket(packet)})`; // the action does not name the kind
  const to = action.to.length ? ` to ${action.to.map((q) => space.processes[q]).join(", ")}` : "";
  return `${action.name}${named ? ` ${named}` : ""}${to}${origin}`;
}

/** The application's events that the action's own name does not say; all of them, in order, if it delivers several messages,
 * or something else first. */
function remark(action) {
  const own = action.happened.findIndex(([kind, message]) => kind === action.name && message === action.message);
  const several = action.happened.filter(([kind]) => kind === "deliver").length > 1;
  const further = several || own > 0 ? [inOrder(action.happened)]
    : action.happened.filter((_, k) => k !== own).map(([kind, message]) => `${kind}s ${message}`);
  const sent = action.happened.some(([kind, message]) => kind === "send" && message === action.message);
  if (action.name === "send" && !sent) further.push("not sent yet");
  return further.length ? ` (${further.join(", ")})` : "";
}

/** Events in words, in the order in which they happen: "delivers m2, then m1". */
function inOrder(events) {
  return events.map(([kind, message], k) => (k && events[k - 1][0] === kind ? message : `${kind}s ${message}`)).join(", then ");
}

/** In words: "P1: send m1 to P3". */
function say(space, action) {
  return `${space.processes[action.process]}: ${deed(space, action)}${remark(action)}`;
}

/** The label of a packet: the message's name, with the kind where it is not simply the message; and which of several it is. */
function labelOfPacket(packet) {
  const simply = packet.kind === "message" && packet.message;
  return (simply ? packet.message : [packet.kind, packet.message].filter(Boolean).join(" ")) + whichOf(packet);
}

/** Which of several packets that look alike it is: " #2"; nothing if that need not be known. */
function whichOf(packet) {
  return packet.alike?.confusable ? ` #${packet.place}` : "";
}

/** A packet in words: "m1 from P1 to P3". */
function sayPacket(space, packet, copy = false) {
  const link = `from ${space.processes[packet.source]} to ${space.processes[packet.destination]}`;
  return `${copy ? "a copy of " : ""}${labelOfPacket(packet)} ${link}`;
}

/** What became of a run in which an action was moved. */
function sayMoved(space, before, afterwards) {
  const was = linesOf(space, before), is = linesOf(space, afterwards);
  const other = was.findIndex((line, p) => line.join() !== is[p].join());
  if (other !== -1) return `Another computation: ${space.processes[other]} now has its events in another order.`;
  const names = (moments) => JSON.stringify([...moments[moments.length - 1].names].sort(([one], [two]) => one - two));
  const renamed = names(before) === names(afterwards) ? "" : " Messages are numbered in the order of the run, so their names changed.";
  return `The same computation: each process has the same events; only concurrent events changed places.${renamed}`;
}

/** Why an action cannot be moved. */
function sayRefused(action, beyond) {
  if (beyond) return `Not on this page: at its new place in the run, ${action} leads beyond the states of this page.`;
  return `Not possible: at its new place in the run, ${action} cannot happen.`;
}

/** That no run violates a property; or, if that is not certain, why it is `unknown`. */
function sayNone(space, name, unknown) {
  const live = LIVE.includes(name);
  const endless = live ? ` Runs without end are judged by crownless ${space.check ? "check" : "conform"} alone.` : "";
  if (unknown) return `No run was found that violates ${name}; it is unknown: ${unknown}.${endless}`;
  const which = space.beyond && !space.session ? " on this page" : live ? " that ends" : "";
  return `No run${which} violates ${name}.${endless}`;
}

/** Why it is unknown whether a run goes on without violating a property: what a log lacks, or a node has pending there. */
function unknownHere(space, name, { locals }) {
  return space.undecided_in_run[name] ?? locals.map((local) => space.pending[local]).find(Boolean);
}

function count(number, one) {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}
