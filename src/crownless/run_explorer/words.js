// Actions and moments in words.
"use strict";

/** The action without its process and effects: "send m1 to P3". */
function deed(space, action) {
  const named = action.message || (action.byChannel && action.packet && action.packet.kind);
  const message = named ? ` ${named}` : "";
  const to = action.to.length ? ` to ${action.to.map((q) => space.processes[q]).join(", ")}` : "";
  const origin = action.packet ? ` from ${space.processes[action.packet.source]}` : "";
  return `${action.name}${message}${to}${origin}`;
}

/** The application's events that the action's own name does not say. */
function remark(action) {
  const further = action.happened.filter(([kind, message]) => kind !== action.name || message !== action.message)
    .map(([kind, message]) => `${kind}s ${message}`);
  const sent = action.happened.some(([kind, message]) => kind === "send" && message === action.message);
  if (action.name === "send" && !sent) further.push("not sent yet");
  return further.length ? ` (${further.join(", ")})` : "";
}

/** In words: "P1: send m1 to P3". */
function say(space, action) {
  return `${space.processes[action.process]}: ${deed(space, action)}${remark(action)}`;
}

/** The label of a packet: the message's name, with the kind where it is not simply the message. */
function labelOfPacket(packet) {
  if (packet.kind === "message" && packet.message) return packet.message;
  return [packet.kind, packet.message].filter(Boolean).join(" ");
}

/** A packet in words: "m1 from P1 to P3". */
function sayPacket(space, packet) {
  const copy = packet.copy ? "a copy of " : "";
  const link = `from ${space.processes[packet.source]} to ${space.processes[packet.destination]}`;
  return `${copy}${labelOfPacket(packet)} ${link}`;
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
  if (beyond) return `Not on this page: at its new place in the run, ${action} leads beyond the states that are here.`;
  return `Not possible: at its new place in the run, ${action} cannot happen.`;
}

function count(number, one) {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}
