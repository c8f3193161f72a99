"""`site DIR --serve`: the pages on this computer, each file with its type."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".mjs": "text/javascript",
    ".json": "application/json",
}
TYPES |= {".wasm": "application/wasm", ".zip": "application/zip", ".png": "image/png"}
TYPES |= {".txt": "text/plain; charset=utf-8", "": "application/octet-stream"}


class Files(SimpleHTTPRequestHandler):
    """Types do not depend on the system's table."""

    extensions_map = TYPES

    def log_message(self, *_: object) -> None:
        """Nothing: a page asks for many files."""


def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of the folder, for this computer only; port 0 is a free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(Files, directory=str(folder)))


def serve(folder: Path) -> None:
    """Serve until Ctrl-C."""
    with server(folder) as running:
        print(f"http://127.0.0.1:{running.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
