// What happens at an event, and the local variables after it, beside the diagram: on hover, click or focus.
"use strict";

const facts = JSON.parse(document.getElementById("facts").textContent);

function table(variable) {
  const element = document.createElement("table");
  element.createCaption().textContent = variable.name;
  variable.rows.forEach((row, r) => {
    const line = element.insertRow();
    row.forEach((value, k) => {
      const cell = line.insertCell();
      const changed = variable.changed.some(([i, j]) => i === r && j === k);
      const text = changed ? cell.appendChild(document.createElement("mark")) : cell;
      text.textContent = value;
      if (changed) text.title = "changed by this event";
    });
  });
  return element;
}

document.querySelectorAll(".diagram").forEach((diagram, number) => {
  const aside = diagram.querySelector("aside");
  const events = [...diagram.querySelectorAll("[tabindex]")];
  const show = (place) => {
    const fact = facts[number][place];
    const words = document.createElement("p");
    words.textContent = fact.words;
    const process = document.createElement("p");
    process.className = "quiet";
    process.textContent = fact.variables.length ? `Local variables of ${fact.process} after it:` : "";
    aside.replaceChildren(words, process, ...fact.variables.map(table));
  };
  const focus = (place) => {
    events.forEach((event, k) => event.setAttribute("tabindex", k === place ? "0" : "-1"));
    events[place].focus();
  };
  events.forEach((event, place) => {
    event.addEventListener("mouseenter", () => show(place));
    event.addEventListener("focus", () => show(place));
    event.addEventListener("click", () => focus(place));
    event.addEventListener("keydown", (pressed) => {
      const to = { ArrowDown: place + 1, ArrowRight: place + 1, ArrowUp: place - 1, ArrowLeft: place - 1,
                   Home: 0, End: events.length - 1 }[pressed.key];
      if (to === undefined) return;
      pressed.preventDefault();
      if (to >= 0 && to < events.length) focus(to);
    });
  });
});
