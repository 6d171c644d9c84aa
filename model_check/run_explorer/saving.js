// Runs as files: as `check --json` prints them, which `crownless show` reads; as a trace; as a log; as a test.
"use strict";

/** A run as `crownless check --json` prints it, with the properties that it breaks. */
function asJson(space, moments) {
  const called = (p) => space.processes[p];
  const run = moments.slice(1).map(({ action }) => ({
    process: called(action.process),
    action: action.name,
    ...(action.message === null ? {} : { message: action.message }),
    ...(action.to.length ? { to: action.to.map(called) } : {}),
    ...(action.packet ? { from: called(action.packet.source), packet: action.packet.kind } : {}),
    transmits: action.transmits.map(({ kind, message, destination }) => ({ kind, message, to: called(destination) })),
    happens: action.happened.map(([event, message]) => ({ event, message })),
    ...(action.byChannel ? { by_channel: true } : {}),
  }));
  const broken = brokenBy(space, moments).map(([name]) => name);
  const properties = (broken.length ? broken : ["run"]).map((name) => ({ name, verdict: broken.length ? "violated" : "holds", run }));
  const check = { protocol: space.protocol, process_names: space.processes, properties };
  return JSON.stringify({ crownless: space.version, checks: [check] }, null, 1);
}

/** The properties that a run breaks, each with its meaning and the place of the action that broke it; -1 is its end. */
function brokenBy(space, moments) {
  const last = moments[moments.length - 1];
  return space.properties.flatMap(([name, meaning], k) => {
    const bit = 1 << k;
    if (last.broken & bit) return [[name, meaning, moments.findIndex((moment) => moment.breaks & bit) - 1]];
    return (space.ends[last.node] ?? 0) & bit ? [[name, meaning, -1]] : [];
  });
}

/** The application's events, in the order of the run. */
function eventsOf(space, moments) {
  const sends = new Map(moments.slice(1).filter(({ action }) => action.to.length).map(({ action }) => [action.message, action]));
  return moments.slice(1).flatMap(({ action }) => action.happened.map(([kind, message]) => ({
    process: space.processes[action.process], kind, message,
    sender: sends.has(message) ? space.processes[sends.get(message).process] : "",
    to: sends.has(message) ? sends.get(message).to.map((q) => space.processes[q]) : [],
  })));
}

/** A trace in the Informal Trace Format. */
function asItf(space, moments) {
  const none = { process: "", kind: "none", message: "", peer: "" };
  const states = [{ action: "the beginning", event: none }];
  const all = eventsOf(space, moments);
  let next = 0;
  moments.slice(1).forEach(({ action }) => {
    const events = all.slice(next, next += action.happened.length).map(({ process, kind, message, sender, to }) => ({
      process, kind, message, peer: kind !== "send" ? sender : to.length === 1 ? to[0] : { "#set": to },
    }));
    (events.length ? events : [none]).forEach((event) => states.push({ action: say(space, action), event }));
  });
  const numbered = states.map((state, index) => ({ ...state, "#meta": { index } }));
  const meta = { format: "ITF", description: `a run of ${space.protocol}`, crownless: space.version };
  return JSON.stringify({ "#meta": meta, vars: ["action", "event"], states: numbered }, null, 1);
}

/** A log with vector clocks, as ShiViz reads it. */
function asShiViz(space, moments) {
  const clocks = new Map(space.processes.map((name) => [name, {}]));
  const stamps = new Map();
  return eventsOf(space, moments).map(({ process, kind, message }) => {
    const clock = clocks.get(process);
    if (kind === "deliver") Object.entries(stamps.get(message) ?? {}).forEach(([host, at]) => { clock[host] = Math.max(clock[host] ?? 0, at); });
    clock[process] = (clock[process] ?? 0) + 1;
    if (kind === "send") stamps.set(message, { ...clock });
    return `${process} ${JSON.stringify(clock)}\n${kind} ${message}\n`;
  }).join("");
}

/** A test in Python of the computation that the application saw. */
function asTest(space, moments) {
  const lines = space.processes.map((name) => {
    const own = eventsOf(space, moments).filter(({ process, kind }) => process === name && (kind === "send" || kind === "deliver"));
    return `${name}: ${own.map(({ kind, message, to }) => (kind === "send" ? `send ${message} to ${to.join(", ")}` : `receive ${message}`)).join("; ")}`;
  });
  const broken = brokenBy(space, moments).map(([name]) => name).filter((name) => space.orders.includes(name));
  const text = JSON.stringify(lines.join("\n"));
  return [
    "import crownless as cr", "", "",
    "def test_a_run() -> None:",
    `    seen = cr.classify(${text})`,
    `    assert {order for order, verdict in seen.items() if verdict.outcome == "broken"} >= {${broken.map((name) => JSON.stringify(name)).join(", ") || "*()"}}`,
    "",
  ].join("\n");
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
