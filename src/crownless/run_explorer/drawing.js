// The diagram of a run: a row an event, as `crownless show` draws it.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function element(parent, name, attributes = {}, text = null) {
  const made = parent.appendChild(document.createElementNS(SVG, name));
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  if (text !== null) made.textContent = text;
  return made;
}

/** The rows of a run: events with their process, action and kind; the arrows between them; and what is held back. */
function pictureOf(space, moments) {
  const events = [], arrows = [], undelivered = [], waits = [];
  const crashed = new Set(), sent = new Map();
  moments.slice(1).forEach(({ action }, place) => {
    const first = events.length;
    const add = (kind) => events.push({ process: action.process, kind, place, row: events.length }) - 1;
    const inChannel = takeFromChannel(action, { arrows, sent, undelivered, waits, crashed, first }, add);
    sendsOf(action).forEach((packets) => {
      const start = add("send");
      packets.forEach((packet) => {
        const arrow = { packet, start, end: null, lost: false, copy: false };
        arrows.push(arrow);
        sent.set(packet, { arrow, received: false, underWay: 1, queued: [] });
      });
    });
    const crash = action.name === "crash" && action.byChannel;
    if (events.length === first) add(inChannel ? "silent" : crash ? "crash" : "internal");
    if (crash) crashed.add(action.process);
    const plain = action.name === "send" && action.transmits.length > 0 && events[first].kind === "send";
    events[first].remark = (plain ? remark(action) : deed(space, action) + remark(action)).trim();
    action.happened.filter(([kind]) => kind === "deliver").forEach(([, message]) => {
      const wait = undelivered.find((each) => each.message === message && each.process === action.process);
      if (!wait) return;
      undelivered.splice(undelivered.indexOf(wait), 1);
      if (wait.row < first) { waits.push({ ...wait, until: first }); events[first].delivers = true; }
    });
  });
  const queued = [...sent.values()].filter(({ arrow }) => arrow.packet.control).flatMap((each) => each.queued);
  return { events, arrows, waits: [...waits, ...[...undelivered, ...queued].map((wait) => ({ ...wait, until: null }))] };
}

/** The packets of an action as sends, each to several receivers if the packets look alike. Those of one link are in the order
 * transmitted. */
function sendsOf({ transmits }) {
  const sends = [];
  transmits.forEach((packet) => {
    const last = sends.findLastIndex((packets) => packets.some(({ destination }) => destination === packet.destination));
    const ofIt = sends.slice(last + 1).find(([first]) => labelOfPacket(first) === labelOfPacket(packet));
    if (ofIt) ofIt.push(packet);
    else sends.push([packet]);
  });
  return sends;
}

/** Ends the arrow of the packet that an action takes from the channel, if it does; true of what happens to a packet in
 * the channel alone: a fault, or an arrival at a process that has crashed. */
function takeFromChannel(action, { arrows, sent, undelivered, waits, crashed, first }, add) {
  const own = sent.get(action.packet);
  if (!own) return false;
  if (action.byChannel && action.name === "duplicate") { own.underWay += 1; return true; }
  const gone = (action.byChannel && action.name === "lose") || crashed.has(action.process);
  if (own.queued.length && !arrivesOnly(action) && !gone) { // it arrived before
    const wait = own.queued.shift();
    if (own.arrow.packet.control) waits.push({ ...wait, until: first });
    return false;
  }
  const copy = own.received;
  own.underWay -= 1;
  if (gone) { own.arrow.lost ||= !copy && own.underWay === 0; return true; } // another copy may still arrive
  own.received = true;
  const end = add("receive");
  if (copy) arrows.push({ ...own.arrow, end, lost: false, copy });
  else own.arrow.end = end;
  const wait = { message: own.arrow.packet.message, process: action.process, row: end };
  if (arrivesOnly(action)) own.queued.push(wait);
  if (!own.arrow.packet.control && !copy) undelivered.push(wait);
  return false;
}

/** Draws the run into an SVG element, with emphasis on what violates something, if it does; `drag` is called for each event. */
function draw(svg, space, moments, emphasis, drag) {
  const { row, column, radius, margin, character } = space.layout;
  const { events, arrows, waits } = pictureOf(space, moments);
  const widest = Math.max(0, ...arrows.map(({ packet }) => labelOfPacket(packet).length)) * character + 44;
  const names = space.processes.map((name) => Math.max(name.length * character, widthOf(name)));
  const wide = Math.min(space.layout.farthest, space.layout.columns / Math.max(space.processes.length - 1, 1));
  const gap = Math.max(column, wide, widest);
  const x = [];
  names.forEach((width, p) => x.push(Math.round(p === 0 ? margin + Math.max(width, 24) / 2
    : x[p - 1] + Math.max(gap, (names[p - 1] + width) / 2 + 16))));
  const y = (at) => margin + 30 + at * row;
  const foot = y(events.length) - row / 4 + (events.length ? 0 : row) + (arrows.some(({ end }) => end === null) ? row : 0);
  const remarksAt = x[x.length - 1] + names[names.length - 1] / 2 + 18;
  const remarks = Math.max(0, ...events.map((event) => (event.remark ?? "").length * character));
  const width = Math.round(remarksAt + remarks + margin), height = Math.round(foot + margin);
  svg.replaceChildren();
  Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }).forEach(([key, value]) => svg.setAttribute(key, value));
  element(svg, "title", {}, "The run as a space-time diagram");
  const because = emphasis ? `Not ${emphasis.name}: ${emphasis.says}. ` : "";
  element(svg, "desc", {}, because + moments.slice(1).map(({ action }, k) => `${k + 1}. ${say(space, action)}.`).join(" "));
  element(svg, "rect", { class: "page", width, height });
  space.processes.forEach((name, p) => {
    element(svg, "text", { class: "name", x: x[p], y: margin + 5 }, name);
    const crash = events.find((event) => event.kind === "crash" && event.process === p);
    const end = crash ? y(crash.row) : foot;
    element(svg, "line", { class: "line", x1: x[p], y1: margin + 12, x2: x[p], y2: end });
    if (crash) element(svg, "line", { class: "gone", x1: x[p], y1: end, x2: x[p], y2: foot });
  });
  waits.forEach(({ process, row: top, until }) => element(svg, "rect", { class: "waits", x: x[process] - 3.5, y: y(top),
    width: 7, height: (until === null ? foot : y(until)) - y(top), rx: 3 }));
  (emphasis?.pairs ?? []).forEach(([one, other]) => {
    if (one.process !== other.process) return;
    const [y1, y2] = [one, other].map((each) => y(rowOf(each, events, arrows)));
    if (y1 !== y2) element(svg, "line", { class: "chain", x1: x[one.process], y1, x2: x[one.process], y2 });
  });
  const carried = new Set(arrows.filter(({ packet }) => !packet.control).map(({ packet }) => packet.message));
  const shown = ({ packet }) => emphasis !== null && emphasis.messages.has(packet.message)
    && (packet.control ? !carried.has(packet.message) : emphasis.legs.has(`${packet.message} ${packet.destination}`));
  const taken = events.map((event) => box(x[event.process], y(event.row), 2 * radius, 2 * radius));
  const drawn = { svg, events, x, y, layout: space.layout, taken, stubs: new Map() };
  const dimmed = emphasis ? "dim" : "";
  // What is shown finds room for its names first, and lies above the rest.
  const once = merged(arrows, shown);
  const named = [...once.filter(shown), ...once.filter((arrow) => !shown(arrow))]
    .map((arrow) => drawArrow(drawn, arrow, shown(arrow) ? "shown" : dimmed));
  named.reverse().forEach((group) => svg.appendChild(group));
  const group = element(svg, "g", { class: "events" });
  events.forEach((event) => {
    const { action, breaks } = moments[event.place + 1];
    const at = { cx: x[event.process], cy: y(event.row) };
    const one = element(group, "g", { class: breaks.length ? "breaks" : "", "data-place": event.place });
    element(one, "title", {}, say(space, action));
    if (breaks.length) element(one, "circle", { ...at, r: radius + 5, class: "ring" });
    if (event.kind === "silent") element(one, "path", { d: `M${at.cx} ${at.cy - 5}l5 5l-5 5l-5 -5z` });
    else if (event.kind === "crash") element(one, "path", { class: "crash", d: `M${at.cx - 6} ${at.cy - 6}l12 12m0 -12l-12 12` });
    else {
      const waiting = waits.some((wait) => wait.process === event.process && wait.row === event.row);
      const hollow = waiting || (event.kind === "internal" && !event.delivers);
      element(one, "circle", { ...at, r: radius, class: hollow ? "hollow" : "" });
    }
    if (event.remark) element(svg, "text", { class: "quiet", x: remarksAt, y: at.cy + 4 }, event.remark);
    drag(one, event, events, row);
  });
}

/** The row of what the application sees happen in an action: of a send that of its packets, if there are any. */
function rowOf({ kind, message, place }, events, arrows) {
  const sent = kind === "send" && arrows.find(({ packet, start }) => packet.message === message && events[start].place === place);
  return sent ? sent.start : events.findIndex((event) => event.place === place);
}

/** The arrows, those that do not arrive and look alike as one: with how many `times` it stands for them. */
function merged(arrows, shown) {
  const alike = new Map();
  for (const arrow of arrows) {
    const { packet, start, end, lost, copy } = arrow;
    const side = Math.sign(packet.destination - packet.source);
    const key = end === null ? JSON.stringify([start, side, labelOfPacket(packet), lost, copy, shown(arrow)]) : arrow;
    alike.set(key, { ...arrow, times: (alike.get(key)?.times ?? 0) + 1 });
  }
  return [...alike.values()];
}

/** Draws an arrow, and writes its name where there is room; what is drawn so far is known. */
function drawArrow({ svg, events, x, y, layout, taken, stubs }, arrow, emphasis) {
  const { packet, start, end, lost, copy } = arrow;
  const x0 = x[events[start].process], y0 = y(start);
  const loop = packet.source === packet.destination;
  const arrives = end !== null;
  const side = packet.destination < packet.source ? -1 : 1;
  const beside = loop ? layout.loop : Math.abs(x[packet.source + side] - x[packet.source]) * layout.stub;
  const others = arrives ? 0 : stubs.get(`${start} ${side}`) ?? 0; // each further down than the one before
  if (!arrives) stubs.set(`${start} ${side}`, others + 1);
  const x1 = arrives ? x[packet.destination] : x0 + side * beside;
  const y1 = arrives ? y(end) : y0 + (layout.stubDown + 0.6 * others) * layout.row;
  const kinds = ["arrow", packet.control ? "control" : "", arrives ? "" : "open", lost ? "lost" : "", copy ? "copy" : "", emphasis];
  const group = element(svg, "g", { class: kinds.filter(Boolean).join(" ") });
  const curved = loop && arrives;
  const straight = (y0 + y1) / 2, control = arrives && !loop ? controlOf(arrow, events, x, y, layout, [x0, y0, x1, y1]) : straight;
  element(group, "path", { d: curved ? `M${x0} ${y0}C${x0 + layout.loop} ${y0} ${x0 + layout.loop} ${y1} ${x1} ${y1}`
    : control === straight ? `M${x0} ${y0}L${x1} ${y1}` : `M${x0} ${y0}Q${(x0 + x1) / 2} ${control} ${x1} ${y1}` });
  if (lost) element(group, "path", { class: "cross", d: `M${x1 - 5} ${y1 - 5}l10 10m0 -10l-10 10` });
  else if (!arrives) element(group, "circle", { cx: x1, cy: y1, r: 3.5 });
  else {
    const along = [(x1 - x0) / 2, y1 - control], length = Math.hypot(...along);
    const [dx, dy] = curved ? [-1, 0] : along.map((each) => each / length);
    const px = x1 - dx * (layout.radius + 0.5), py = y1 - dy * (layout.radius + 0.5), bx = px - dx * 9, by = py - dy * 9;
    element(group, "polygon", { points: `${px},${py} ${bx - dy * 4},${by + dx * 4} ${bx + dy * 4},${by - dx * 4}` });
  }
  const name = labelOfPacket(packet) + (arrow.times > 1 ? ` ×${arrow.times}` : "");
  const width = name.length * layout.character, height = 13;
  const places = arrives ? placesAlong([x0, y0, x1, y1], control, width)
    : [[x1 + side * (width / 2 + 8), y1], [x1, y1 + 12], [x1 + side * (width / 2 + 8), y1 + 9]];
  const boxes = places.map(([left, top]) => box(left, top, width, height));
  const free = boxes.findIndex((each) => !taken.some((other) => meet(each, other)));
  const [left, top] = places[Math.max(free, 0)];
  taken.push(boxes[Math.max(free, 0)]);
  element(group, "text", { x: left, y: top + 4 }, name);
  return group;
}

/** Where the name of an arrow may stand: above it, or beside a steep one, at several places along it; the best first. */
function placesAlong([x0, y0, x1, y1], control, width) {
  const flat = Math.abs(y1 - y0) <= Math.abs(x1 - x0), shift = (width / 2 + 5) * Math.sign(x1 - x0 || 1);
  return [0.3, 0.42, 0.2, 0.55, 0.68, 0.8].flatMap((t) => {
    const [across, down] = [x0 + t * (x1 - x0), heightAt(t, y0, control, y1)];
    return flat ? [[across, down - 9], [across, down + 10]] : [[across + shift, down], [across - shift, down]];
  });
}

function box(x, y, width, height) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}

function meet(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

const ruler = document.createElement("canvas").getContext("2d");

/** The pixels that the name of a process takes. */
function widthOf(name) {
  ruler.font = "600 13px system-ui, sans-serif";
  return ruler.measureText(name).width;
}

/** How high a quadratic curve is at t, from 0 to 1. */
function heightAt(t, y0, control, y1) {
  return (1 - t) ** 2 * y0 + 2 * (1 - t) * t * control + t ** 2 * y1;
}

/** The height of the control point with which an arrow stays away from the events of the processes between. */
function controlOf({ packet }, events, x, y, layout, [x0, y0, x1, y1]) {
  const [left, right] = [packet.source, packet.destination].sort((a, b) => a - b);
  const between = events.filter((event) => left < event.process && event.process < right && event.kind !== "silent");
  let best = null, farthest = -1;
  for (const bend of layout.bends) {
    const control = (y0 + y1) / 2 + bend * (y1 - y0);
    const far = between.map((event) => Math.abs(heightAt((x[event.process] - x0) / (x1 - x0), y0, control, y1) - y(event.row)));
    const clearance = Math.min(layout.clearance, ...far);
    if (clearance > farthest) [best, farthest] = [control, clearance];
  }
  return best;
}
