"""The run explorer on loopback: the same page, with further states loaded as they are reached."""

import json
import secrets
import sys
import threading
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crownless.model_check.check.check import run_check
from crownless.runtime.ending import Limits, look
from crownless.runtime.errors import BadInput
from crownless.spec.orders import ORDERS

from .first_run import first_run
from .page import explorer_page
from .state_space import StateSpace
from .subjects import Explored, choices_of

#: The number of nodes on the page from the start.
AT_FIRST = 500
LOOPBACK = "127.0.0.1"
#: Limits of a search for a shortest run.
SECONDS = 60.0
STOPPED = "the search ended early"


class ExplorerServer(ThreadingHTTPServer):
    """Serves one page, and the moves of its nodes as they are requested. Raises `BadInput` if the port is taken."""

    daemon_threads = True

    def __init__(self, explored: Explored, port: int = 0) -> None:
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise BadInput(f"port {port}: {error.strerror}", hint="choose another one, or 0 for any") from None
        self.explored = explored
        self.one_at_a_time = threading.Lock()
        #: Pages of another server, which was on this port before, do not have it.
        self.session = secrets.token_hex(8)
        data = explored.space.as_data(AT_FIRST, serves_more=True)
        start, shows = explored.start, explored.shows
        if not start:
            start, shows = first_run(explored.space, data)
        self.page = explorer_page(data, explored.title, start, shows=shows, session=self.session).encode()

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def service_actions(self) -> None:
        """Ends the server after a signal; called between requests, and twice a second."""
        look()

    def more(self, node: int, known: dict[str, int]) -> dict[str, Any]:
        """The moves of a node, and the rows of each table that the page lacks; see `StateSpace.more`."""
        with self.one_at_a_time:
            return self.explored.space.more(node, known)

    @cache  # noqa: B019 (it lives as long as the server)
    def shortest(self, number: int) -> dict[str, Any]:
        """The choices of a shortest run that violates the property of that number: found by the engine, which searches
        every run within the bound. `unknown`: why there may be one, if it found none.
        """
        with self.one_at_a_time:
            if number < 0:
                raise IndexError(number)
            known = self.explored.space.properties[number]
            if known.name in self.explored.space.names.uncertain:
                return {"choices": None, "unknown": self.explored.space.undecided(known.name)}
            # Monitors of other orders would only make more states.
            orders = (known.name,) if known.name in ORDERS else ()
            check = replace(self.explored.check, orders=orders, properties=(known._replace(promised=True),))
            found = run_check(check, Limits(seconds=SECONDS), first=True)[known.name]
            if found.verdict == "holds" or (found.run is not None and found.run.loop):
                return {"choices": None, "unknown": self.explored.space.undecided(known.name)}
            if found.run is None:
                return {"choices": None, "unknown": found.note or STOPPED}
            return {"choices": choices_of(StateSpace(self.explored.space.check), found.run), "unknown": None}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a browser that disconnects."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer

    def do_GET(self) -> None:
        own = {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}
        # A foreign page whose host name resolves to this server (DNS rebinding) has that name in its requests.
        if self.headers.get("Host") not in own or self.headers.get("Origin", "http://").split("://")[-1] not in {
            "",
            *own,
        }:
            self.send_error(HTTPStatus.FORBIDDEN, "this is served on loopback alone")
            return
        wanted = urlsplit(self.path)
        if wanted.path == "/":
            self._answer("text/html; charset=utf-8", self.server.page)
            return
        if wanted.path not in ("/more", "/shortest"):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        given = {name: value[0] for name, value in parse_qs(wanted.query).items()}
        if given.pop("session", None) != self.server.session:
            answer: dict[str, Any] = {"error": "This page is from a server that has ended: reload it."}
        else:
            try:
                numbers = {name: int(value) for name, value in given.items()}
                if wanted.path == "/more":
                    answer = self.server.more(numbers.pop("node"), numbers)
                else:
                    answer = self.server.shortest(numbers["property"])
            except (ValueError, LookupError):
                self.send_error(HTTPStatus.BAD_REQUEST, "no such node or property")
                return
            except BadInput as error:
                answer = {"error": str(error)}
        self._answer("application/json", json.dumps(answer, separators=(",", ":")).encode())

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs no requests."""
