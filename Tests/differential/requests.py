#!/usr/bin/python3
"""Compares the HTTP reader of Grapevine with those of h11 and httptools.

usage: Tests/differential/requests.py FUZZ [INPUTS [SEED]]

Feeds INPUTS (20,000) byte strings, drawn from SEED (the time), to `FUZZ --requests` (grapevine-fuzz)
and to both libraries. A request that Grapevine accepts has to be read in the same way by each of
them, or refused: requests of which two readers find two different ends are smuggled past proxies.
Exit status 1 if one is read in another way; it is printed.
"""

import random
import subprocess
import sys
import time
import urllib.parse

import h11
import httptools

METHODS = [b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"PATCH", b"OPTIONS"]
TARGETS = [b"/", b"/v1/x", b"/a%20b?c=d", b"http://h:80/x", b"/v1/%C3%A4/"]
FIELDS = [
    b"X: y", b"Connection: keep-alive", b"Connection: close", b"X-Y:z", b"Accept: */*",
    b"Expect: 100-continue", b"Cookie: a=b; c", b"X:", b"X: \xc3\xa4", b"X: \xcd\xa4",
]
PIECES = [
    b"\r\n", b"\n", b"\r", b" ", b"\t", b"Content-Length: 3\r\n", b"Content-Length:\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding : chunked\r\n", b"Transfer-Encoding: chunked, identity\r\n",
    b"Host: b\r\n", b"\r\n\r\n", b":", b"0", b"3", b"a", b"\0", b",", b";x", b"\x0b", b"\x80",
    b"\xff", b"HTTP/1.1", b"HTTP/0.9", b"+", b"-", b"0x", b"@", b"#", b"..", b"%",
]


def valid(rnd):
    """A request as clients send it."""
    fields, body = [b"Host: a"], b""
    kind = rnd.random()
    if kind < 0.3:
        body = b"x" * rnd.randrange(5)
        fields.append(b"Content-Length: %d" % len(body))
    elif kind < 0.6:
        fields.append(b"Transfer-Encoding: chunked")
        for _ in range(rnd.randrange(3)):
            chunk = b"y" * rnd.randrange(1, 20)
            body += b"%x\r\n%s\r\n" % (len(chunk), chunk)
        body += b"0\r\n\r\n"
    fields += rnd.choices(FIELDS, k=rnd.randrange(3))
    rnd.shuffle(fields)
    version = rnd.choice([b"1.1", b"1.1", b"1.1", b"1.0"])
    line = rnd.choice(METHODS) + b" " + rnd.choice(TARGETS) + b" HTTP/" + version
    return line + b"\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body


def mutated(rnd, data):
    data = bytearray(data)
    for _ in range(rnd.choice([0, 1, 1, 1, 2, 3])):
        index, kind = rnd.randrange(len(data) + 1), rnd.random()
        if kind < 0.5:
            data[index:index] = rnd.choice(PIECES)
        elif kind < 0.75:
            del data[index : index + rnd.randrange(1, 4)]
        elif index < len(data):
            data[index] = rnd.randrange(256)
    return bytes(data)


def path(target):
    """The parts of a target's path, as RequestTarget reads them."""
    for scheme in (b"http://", b"https://"):
        if target.startswith(scheme):
            rest = target[len(scheme) :]
            target = rest[rest.find(b"/") :] if b"/" in rest else b""
    parts = [urllib.parse.unquote_to_bytes(x) for x in target.split(b"?")[0][1:].split(b"/")]
    return [] if parts == [b""] else parts


def normal(fields):
    """Fields with names and codings in lower case: h11 lowers the latter, too."""
    return [
        (name, value.lower() if name == "transfer-encoding" else value) for name, value in fields
    ]


def by_grapevine(block):
    requests = []
    for line in block.split("\n"):
        if line.startswith("R "):
            method, _, parts = line[2:].partition(" ")
            parts = [bytes.fromhex(x) for x in parts.split("/")] if parts else []
            current = [method, parts, [], None]
        elif line.startswith("F "):
            name, _, value = line[2:].partition(" ")
            current[2].append((name, bytes.fromhex(value)))
        elif line.startswith("B "):
            current[3] = bytes.fromhex(line[2:])
        elif line == "E":
            requests.append(current)
    return requests


def by_h11(data):
    connection, requests, current = h11.Connection(h11.SERVER), [], None
    connection.receive_data(data)
    try:
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                fields = [(name.decode(), bytes(value)) for name, value in event.headers]
                current = [event.method.decode(), path(event.target), fields, b""]
            elif isinstance(event, h11.Data):
                current[3] += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                requests.append(current)
                if connection.their_state is not h11.DONE:
                    return requests
                connection.send(h11.Response(status_code=204, headers=[]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is not h11.DONE:
                    return requests
                connection.start_next_cycle()
            else:
                return requests
    except (h11.RemoteProtocolError, h11.LocalProtocolError):
        return requests


class Listener:
    """What httptools calls."""

    def __init__(self):
        self.requests = []

    def on_message_begin(self):
        self.current = [None, b"", [], b""]

    def on_url(self, url):
        self.current[1] += url

    def on_header(self, name, value):
        self.current[2].append((name.decode("latin1").lower(), value.strip(b" \t")))

    def on_headers_complete(self):
        self.current[0] = self.parser.get_method().decode()

    def on_body(self, body):
        self.current[3] += body

    def on_message_complete(self):
        self.current[1] = path(self.current[1])
        self.requests.append(self.current)


def by_httptools(data):
    listener = Listener()
    listener.parser = httptools.HttpRequestParser(listener)
    try:
        listener.parser.feed_data(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        pass
    return listener.requests


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    rnd = random.Random(seed)
    inputs = [
        mutated(rnd, b"".join(valid(rnd) for _ in range(rnd.randrange(1, 4))))
        for _ in range(count)
    ]
    output = subprocess.run(
        [sys.argv[1], "--requests"], input="\n".join(x.hex() for x in inputs) + "\n",
        capture_output=True, text=True, check=True,
    ).stdout
    blocks = split_blocks(output)
    if len(blocks) != count:
        sys.exit(f"{len(blocks)} answers to {count} inputs")
    accepted = failures = 0
    refused = {"h11": 0, "httptools": 0}
    for data, block in zip(inputs, blocks):
        ours = by_grapevine(block)
        accepted += len(ours)
        for name, read in (("h11", by_h11), ("httptools", by_httptools)):
            theirs = read(data)
            for index, request in enumerate(ours):
                if index >= len(theirs):
                    refused[name] += len(ours) - index
                    break
                same = request[:2] == theirs[index][:2] and request[3] == theirs[index][3]
                if not same or normal(request[2]) != normal(theirs[index][2]):
                    failures += 1
                    print(f"{name} reads another request in {data!r}:")
                    print(f"  {request}\n  {theirs[index]}")
                    break
    print(
        f"seed {seed}: {count} inputs, {accepted} requests accepted; h11 refused or closed before "
        f"{refused['h11']} of them, httptools {refused['httptools']}; {failures} read in another way"
    )
    if accepted < count // 4:
        sys.exit("too few requests were accepted to compare anything")
    sys.exit(1 if failures else 0)


def split_blocks(output):
    """The answers, each ended by an empty line."""
    blocks, lines = [], []
    for line in output.split("\n")[:-1]:
        if line:
            lines.append(line)
        else:
            blocks.append("\n".join(lines))
            lines = []
    return blocks


if __name__ == "__main__":
    main()
