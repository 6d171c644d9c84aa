// What happens at an event, and the local variables after it, beside the diagram: on hover, click or focus. What breaks
// an order is in view from the beginning.
"use strict";

const facts = JSON.parse(document.getElementById("facts").textContent);

document.querySelectorAll(".diagram").forEach((diagram, number) => {
  const aside = diagram.querySelector("aside");
  const { processes, events: said } = facts[number];
  const events = [...diagram.querySelectorAll("[tabindex]")];
  const show = (place) => {
    const fact = said[place];
    const words = document.createElement("p");
    words.textContent = fact.words;
    const process = document.createElement("p");
    process.className = "quiet";
    process.textContent = fact.variables.length ? `Local variables of ${fact.process} after it:` : "";
    const tables = fact.variables.map((variable) => tableOf(variable, new Set(variable.changed.map(String)), processes));
    aside.replaceChildren(words, process, ...tables);
  };
  const figure = diagram.querySelector("figure"), button = diagram.querySelector("button");
  // In the middle, or from its beginning where it is larger than the frame.
  const toViolation = () => {
    const shown = [...figure.querySelectorAll("svg > .shown")].map((arrow) => arrow.getBoundingClientRect());
    const frame = figure.getBoundingClientRect();
    const offset = (start, end, room) => {
      const first = Math.min(...shown.map((each) => each[start])), last = Math.max(...shown.map((each) => each[end]));
      return first - frame[start] - Math.max((room - (last - first)) / 2, 40);
    };
    figure.scrollTop += offset("top", "bottom", figure.clientHeight);
    figure.scrollLeft += offset("left", "right", figure.clientWidth);
  };
  if (button) {
    button.addEventListener("click", toViolation);
    button.hidden = figure.scrollHeight <= figure.clientHeight && figure.scrollWidth <= figure.clientWidth;
    toViolation();
  }
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
