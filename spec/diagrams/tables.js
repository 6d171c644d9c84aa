// A local variable as a table: its rows, with the cells marked that an event changed.
"use strict";

/** `processes`: their names, which head the rows and columns of what has a number for each process. */
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
    row.forEach((value, k) => {
      const cell = line.insertCell();
      const text = changed(r, k) ? cell.appendChild(document.createElement("mark")) : cell;
      text.textContent = value;
      if (text !== cell) text.title = "changed by this event";
    });
  });
  return table;
}

function heading(text, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = text;
  return cell;
}
