"""Diagrams in words: for screen readers, and for the event under the pointer."""

from crownless.runtime.printable import printable, some

from .diagram import Diagram, Wait


def name_of(diagram: Diagram) -> str:
    """Its title, and the violated order."""
    title = printable(diagram.title)
    says = "" if diagram.emphasis is None else printable(diagram.emphasis.says)
    return ": ".join(filter(None, (title, says))) or "Space-time diagram"


def in_words(diagram: Diagram) -> str:
    """All that happens in it, from top to bottom."""
    c = diagram.computation
    said = [f"Processes {', '.join(diagram.process_names)}; {some(len(c.messages), 'message')}."]
    said += [f"{number}. {event_in_words(diagram, event)}." for number, event in enumerate(diagram.by_row, 1)]
    said += [f"{printable(constraint)}." for constraint in (diagram.emphasis.because if diagram.emphasis else ())]
    return " ".join([*said, diagram.left_out]).strip()


def event_in_words(diagram: Diagram, event: int) -> str:
    """An event in words, with its remark, and whether the arriving message is held back."""
    happens = printable(diagram.computation.say(event))
    remarks = [diagram.shown_remarks[event]] if event in diagram.shown_remarks else []
    if remarks and diagram.computation.events[event].message is None:
        happens = f"{diagram.process_names[diagram.computation.process_of[event]]}: {remarks.pop()}"
    remarks += [wait_in_words(wait) for wait in diagram.waits_from.get(event, ())]
    return f"{happens} ({'; '.join(remarks)})" if remarks else happens


def wait_in_words(wait: Wait) -> str:
    """A sentence saying that a message is held back, and until when."""
    name = printable(wait.message)
    return f"{name} is held back" + ("" if wait.delivery is None else " until it is delivered")
