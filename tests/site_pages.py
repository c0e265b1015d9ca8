"""A page with the module of a kernel, served to browsers of the tests."""

from __future__ import annotations

import functools
import http.server
import threading
from contextlib import contextmanager

import mechdesign as md

# Milliseconds that only keep a test from waiting for ever.
FOREVER = 300_000
PAGE = """<!doctype html><meta charset="utf-8"><title>survey</title>
<script type="module">
import * as all from "./client.mjs";
Object.assign(window, all);
window.tried = (task) => task().then((done) => ["done", done], (e) => [e.name, e.message]);
window.ready = true;
</script>
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files, with the type that modules must have."""

    extensions_map = {".mjs": "text/javascript", ".html": "text/html"}  # noqa: RUF012

    def log_message(self, *_):
        pass


@contextmanager
def serving(folder, mechanism, **options):
    """The address of the page while the block lasts."""
    folder.mkdir(exist_ok=True)
    md.export(mechanism, folder / "client.mjs", to="javascript", **options)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        finally:
            server.shutdown()
            thread.join()
