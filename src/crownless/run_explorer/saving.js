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
    ...(action.packet ? { from: called(action.packet.source), packet: action.packet.kind, ...identityOf(action.packet) } : {}),
    transmits: action.transmits.map((packet) => ({
      kind: packet.kind, message: packet.message, to: called(packet.destination),
      ...(packet.control && packet.message !== null ? { control: true } : {}), ...identityOf(packet),
    })),
    happens: action.happened.map(([event, message]) => ({ event, message })),
    ...(action.byChannel ? { by_channel: true } : {}),
    ...(action.outcome ? { outcome: action.outcome } : {}),
  }));
  const violated = violatedBy(space, moments).map(([name]) => name);
  const properties = (violated.length ? violated : ["run"]).map((name) => ({ name, verdict: violated.length ? "violated" : "holds", run }));
  const title = violated.length ? {} : { title: `a run of ${space.protocol}` };
  const check = { protocol: space.protocol, process_names: space.processes, ...space.check, ...title, properties };
  return JSON.stringify({ crownless: space.version, checks: [check] }, null, 1);
}

/** Which packet it is: the same where it is transmitted and where it is received. */
function identityOf({ number, alike, place }) {
  return { ...(number ? { number } : {}), ...(alike?.confusable ? { alike: place } : {}) };
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

/** A log with vector clocks, as ShiViz reads it. Names in it have no white space. */
function asShiViz(space, moments) {
  const events = eventsOf(space, moments);
  const host = withoutSpace(space.processes), called = withoutSpace([...new Set(events.map(({ message }) => message))]);
  const clocks = new Map(space.processes.map((name) => [name, {}]));
  const stamps = new Map();
  return sendsFirst(events).map(({ process, kind, message, sender, to }) => {
    const clock = clocks.get(process);
    if (kind === "deliver") Object.entries(stamps.get(message) ?? {}).forEach(([name, time]) => { clock[name] = Math.max(clock[name] ?? 0, time); });
    clock[host.get(process)] = (clock[host.get(process)] ?? 0) + 1;
    if (kind === "send") stamps.set(message, { ...clock });
    const others = kind === "send" ? ` to ${to.map((name) => host.get(name)).join(",")}` : kind === "deliver" ? ` from ${host.get(sender)}` : "";
    return `${host.get(process)} ${JSON.stringify(clock)}\n${kind} ${called.get(message)}${others}\n`;
  }).join("");
}

/** The events in an order in which each delivery is after its send, where the run has it before: some protocols deliver
 * before the send takes effect. Each process keeps its order. */
function sendsFirst(events) {
  const left = [...events], order = [], sent = new Set();
  const sends = new Set(events.filter(({ kind }) => kind === "send").map(({ message }) => message));
  while (left.length) {
    const waits = ({ kind, message }) => kind === "deliver" && sends.has(message) && !sent.has(message);
    const next = left.findIndex((event, k) => !waits(event) && left.findIndex(({ process }) => process === event.process) === k);
    const [event] = left.splice(Math.max(next, 0), 1);
    if (event.kind === "send") sent.add(event.message);
    order.push(event);
  }
  return order;
}

/** These names without white space and commas, each one another's. */
function withoutSpace(names) {
  const given = new Map();
  names.forEach((name) => {
    let plain = name.replace(/[\s,]+/g, "_");
    while ([...given.values()].includes(plain) || (plain !== name && names.includes(plain))) plain += "_";
    given.set(name, plain);
  });
  return given;
}

/** A test in Python: of the protocol, where the applications send and receive as in this run, in every interleaving; or
 * else of the computation that the applications saw. */
function asTest(space, moments) {
  const violated = violatedBy(space, moments).map(([name]) => name);
  return (space.check ? testOfProtocol(space, moments, violated) : testOfComputation(space, moments, violated)).join("\n");
}

function testOfProtocol(space, moments, violated) {
  const { protocol, channel, crash, parameters } = space.check;
  const judged = judgedOf(space, violated);
  const orders = judged.filter((name) => space.orders.includes(name));
  const given = [quoted(protocol), "program=PROGRAM", `channel=${quoted(channel)}`,
                 ...(orders.length ? [`orders=[${orders.map(quoted).join(", ")}]`] : []),
                 ...(crash ? [`crash=${quoted(crash)}`] : []),
                 ...(Object.keys(parameters).length ? [`parameters=${JSON.stringify(parameters)}`] : [])];
  // In a program a message that is never delivered leaves a receive waiting.
  const names = [...new Set(judged.map((name) => (LIVE.includes(name) ? "completes" : name)))];
  return [
    "import crownless as cr", "",
    `PROGRAM = """`, ...programOf(space, moments), `"""`, "", "",
    `def test_no_run_violates_${names.join("_or_").replace(/\W/g, "_")}() -> None:`,
    `    found = cr.check(${given.join(", ")})`,
    `    assert not found.violations.keys() & {${names.map(quoted).join(", ")}}, str(found)`,
    "",
  ];
}

/** What a test of a run is about: of what it violates the property that was asked for, or what the protocol promises, or all;
 * of a run that violates nothing what the protocol promises. */
function judgedOf(space, violated) {
  if (violated.includes(wanted)) return [wanted];
  const promised = violated.filter((name) => space.promised.includes(name));
  return promised.length ? promised : violated.length ? violated : space.promised.filter((name) => !LIVE.includes(name));
}

/** The lines of a program that can make the run: what each process sends, and a receive for each delivery, also for those
 * that are still to come. */
function programOf(space, moments) {
  const lines = space.processes.map(() => []);
  const owed = new Map();
  moments.slice(1).forEach(({ action }) => {
    if (action.to.length) {
      lines[action.process].push(`send ${action.message} to ${action.to.map((q) => space.processes[q]).join(", ")}`);
      action.to.forEach((q) => owed.set(`${q} ${action.message}`, q));
    }
    action.happened.filter(([kind]) => kind === "deliver").forEach(([, message]) => {
      lines[action.process].push("receive");
      owed.delete(`${action.process} ${message}`);
    });
  });
  owed.forEach((q) => lines[q].push("receive"));
  return lines.map((line, p) => `${space.processes[p]}: ${line.join("; ")}`);
}

function testOfComputation(space, moments, violated) {
  const events = eventsOf(space, moments);
  const named = plainNames(space.processes, "P"), called = plainNames([...new Set(events.map(({ message }) => message))], "m");
  const lines = space.processes.map((name) => {
    const own = events.filter(({ process, kind }) => process === name && (kind === "send" || kind === "deliver"));
    return `${named.get(name)}: ${own.map(({ kind, message, to }) => (kind === "send"
      ? `send ${called.get(message)} to ${to.map((each) => named.get(each)).join(", ")}` : `receive ${called.get(message)}`)).join("; ")}`;
  });
  const orders = violated.filter((name) => space.orders.includes(name));
  return [
    "import crownless as cr", "",
    `COMPUTATION = """`, ...lines, `"""`, "", "",
    "def test_what_the_application_saw() -> None:",
    `    seen = cr.classify(COMPUTATION, unreceived="pending")`,
    `    assert {order for order, verdict in seen.items() if verdict.outcome == "violated"} == {${orders.map(quoted).join(", ") || "*()"}}`,
    "",
  ];
}

/** These names by themselves, or numbered ones if the notation cannot write them. */
function plainNames(names, letter) {
  const plain = names.every((name) => /^\w[\w-]*$/.test(name) && !["send", "to", "receive", "from"].includes(name));
  return new Map(names.map((name, k) => [name, plain ? name : `${letter}${k + 1}`]));
}

function quoted(text) {
  return JSON.stringify(text);
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
