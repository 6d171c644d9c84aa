// The page: keys, buttons, and events that are dragged.
"use strict";

/** An event can be dragged up or down: its action moves in the run. */
function dragging(group, event, events, row) {
  let from = null;
  const end = () => {
    from = null;
    group.removeAttribute("transform");
    group.classList.remove("dragged");
  };
  const rows = (pointer) => Math.round((pointer.clientY - from) / row);
  group.addEventListener("pointerdown", (pointer) => {
    from = pointer.clientY;
    group.setPointerCapture(pointer.pointerId);
    group.classList.add("dragged");
  });
  group.addEventListener("pointermove", (pointer) => {
    if (from !== null) group.setAttribute("transform", `translate(0 ${rows(pointer) * row})`);
  });
  group.addEventListener("pointercancel", end);
  group.addEventListener("pointerup", (pointer) => {
    if (from === null) return;
    const to = Math.max(0, Math.min(events.length - 1, event.row + rows(pointer)));
    end();
    act(() => move(event.place, events[to].place));
  });
}

const KEYS = { ArrowLeft: back, Backspace: back, ArrowRight: forward, Home: restart };
document.addEventListener("keydown", (pressed) => {
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
  const number = Number(pressed.key);
  if (number >= 1 && number <= 9) act(() => choose(number - 1));
  else if (KEYS[pressed.key]) act(KEYS[pressed.key]);
  else return;
  pressed.preventDefault();
});

at("back").addEventListener("click", () => act(back));
at("forward").addEventListener("click", () => act(forward));
at("again").addEventListener("click", () => act(restart));
const SAVED = { json: ["run.json", asJson], itf: ["run.itf.json", asItf], shiviz: ["run.shiviz", asShiViz], test: ["test_run.py", asTest] };
Object.entries(SAVED).forEach(([id, [file, write]]) => {
  at(id).addEventListener("click", () => download(file, write(space, replay(space, choices))));
});
window.addEventListener("popstate", () => act(goToAddress));
act(goToAddress);
