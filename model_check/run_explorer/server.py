"""The run explorer on loopback: the page as before, and further states for it as they are reached."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crownless.spec.errors import BadInput

from .page import explorer_page
from .subjects import Explored

#: Nodes that are on the page from the first.
AT_FIRST = 500
LOOPBACK = "127.0.0.1"


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
        self.page = explorer_page(
            explored.space.as_data(AT_FIRST, serves_more=True), explored.title, explored.start, served=True
        ).encode()

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def more(self, node: int, known: dict[str, int]) -> dict[str, Any]:
        """The moves of a node, and the rows of each table that the page does not have; see `StateSpace.more`."""
        with self.one_at_a_time:
            return self.explored.space.more(node, known)


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer

    def do_GET(self) -> None:
        # A page from elsewhere that has its own name lead here has that name in its requests.
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}:
            self.send_error(HTTPStatus.FORBIDDEN, "this is served on loopback alone")
            return
        wanted = urlsplit(self.path)
        if wanted.path == "/":
            self._answer("text/html; charset=utf-8", self.server.page)
            return
        if wanted.path != "/more":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            numbers = {name: int(value[0]) for name, value in parse_qs(wanted.query).items()}
            answer = self.server.more(numbers.pop("node"), numbers)
        except (ValueError, LookupError):
            self.send_error(HTTPStatus.BAD_REQUEST, "no such node")
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
        """Says nothing of requests."""
