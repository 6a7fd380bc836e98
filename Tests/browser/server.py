"""A server of the web files, for tests of the page without their copies in a node.

It sends the policy that a node sends. Without nodes it puts the fake client in place of the client.

    server.py PORT [NODE …]
"""

import functools
import http.server
import json
import pathlib
import sys
import threading

HERE = pathlib.Path(__file__).parent
WEB = HERE.parent.parent / "Sources" / "Web"

POLICY = "; ".join([
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:",
    "media-src 'self' blob:", "connect-src 'self'", "manifest-src 'self'", "worker-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
])

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}

PLACES = {
    "/": WEB / "chat/index.html",
    "/gallery": WEB / "chat/gallery/gallery.html",
    "/service-worker.js": WEB / "chat/service-worker.js",
    "/manifest.webmanifest": WEB / "chat/manifest.webmanifest",
    "/icon.svg": WEB / "chat/icon.svg",
}

FAKES = {
    "/client/client.js": HERE / "fake-client.js",
    "/client/fake-cluster.js": HERE / "fake-cluster.js",
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head and the body of an answer are one write: the second of two would wait for the
    # acknowledgement of the first, which browsers delay by 40 ms.
    wbufsize = -1

    def __init__(self, nodes, *rest):
        self.nodes = nodes
        super().__init__(*rest)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/nodes.json":
            body = json.dumps({"nodes": self.nodes})
            return self.answer(200, "application/json", body.encode())
        places = PLACES if self.nodes else PLACES | FAKES
        place = places.get(path) or (WEB / path.lstrip("/")).resolve()
        if not place.is_relative_to(WEB.parent.parent) or not place.is_file():
            return self.answer(404, "text/plain", b"not found")
        self.answer(200, TYPES.get(place.suffix, "application/octet-stream"), place.read_bytes())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        sockets = [node.replace("http", "ws", 1) for node in self.nodes]
        others = " ".join(["connect-src 'self'", *self.nodes, *sockets])
        self.send_header("Content-Security-Policy", POLICY.replace("connect-src 'self'", others))
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    # Browsers open more connections at once than the default backlog holds.
    request_queue_size = 64
    daemon_threads = True

    def handle_error(self, *connection):
        # A page that is closed ends its connections.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*connection)


@functools.cache
def serve(port=0, nodes=()):
    """Starts a server on loopback, once for its arguments, and returns its address."""
    server = Server(("127.0.0.1", port), functools.partial(Handler, list(nodes)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


if __name__ == "__main__":
    print(serve(int(sys.argv[1]), tuple(sys.argv[2:])), flush=True)
    threading.Event().wait()
