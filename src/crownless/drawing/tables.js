// A local variable as a table: its rows, with the entries marked that an event changed.
"use strict";

/** The places, "row,column", at which two versions of a variable differ; those that are gone are beyond the rows. */
function changedPlaces(before, after) {
  const places = new Set();
  for (let r = 0; r < Math.max(before.length, after.length); r += 1) {
    const was = before[r] ?? [], is = after[r] ?? [];
    for (let k = 0; k < Math.max(was.length, is.length); k += 1) if (was[k] !== is[k]) places.add(`${r},${k}`);
  }
  return places;
}

/** `changed`: these places. `processes`: their names, which head the rows and columns of what has a number for each. */
function tableOf({ name, rows }, changed, processes) {
  const table = document.createElement("table");
  table.createCaption().textContent = name;
  const numbers = processes.length > 1 && rows.every((row) => row.length === processes.length && row.every((cell) => /^-?\d+$/.test(cell)));
  const matrix = numbers && rows.length === processes.length;
  if (numbers && (matrix || rows.length === 1)) {
    const line = table.createTHead().insertRow();
    if (matrix) line.insertCell();
    processes.forEach((process) => line.appendChild(heading(process, "col")));
  }
  const body = table.createTBody();
  rows.forEach((row, r) => {
    const line = body.insertRow();
    if (matrix) line.appendChild(heading(processes[r], "row"));
    row.forEach((value, k) => entry(line, value, changed.has(`${r},${k}`) ? "changed by this event" : ""));
  });
  const removed = [...changed].some((place) => {
    const [r, k] = place.split(",").map(Number);
    return r >= rows.length || k >= rows[r].length;
  });
  if (removed) entry(body.rows[0] ?? body.insertRow(), "(removed)", "this event removed entries");
  return table;
}

function entry(line, text, change) {
  const cell = line.insertCell();
  if (!change) { cell.textContent = text; return; }
  const mark = cell.appendChild(document.createElement("mark"));
  mark.textContent = text;
  mark.title = change;
}

function heading(text, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = text;
  return cell;
}
