#!/usr/bin/env python3
"""Checks files on a cluster of three real nodes: upload, download, deletion and what they cost.

usage: files.py BINARY [NAME…]    all checks, or those whose names contain one of these words
"""

import base64
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
import uuid

from cluster import App, Cluster, converge, cut_off, down, until
from suite import Suite

SUITE = Suite()
check = SUITE.check

KIB, MIB = 1 << 10, 1 << 20
PART_BYTES = 32 * KIB
FILE_BYTES_MAX = 25 * MIB

PNG = b"\x89PNG\r\n\x1a\n"

# The most seconds until the bytes of a deleted file have left every disk that is in a cluster.
PURGED_WITHIN = 10


# MARK: Nodes


def rss(node):
    """Returns the resident memory of a node in bytes, as STATUS prints it."""
    fields = dict(field.split("=", 1) for field in node.ask("STATUS")[0].split() if "=" in field)
    return int(fields["rss"])


# MARK: Apps


class Reply:
    """The answer to a request for a file: JSON, or the file's bytes."""

    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()
        self.token = response.getheader("Grapevine-Token")

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]["message"]


class FileApp(App):
    """A user's client of one node, which sends and receives bytes beside JSON."""

    def request(self, method, path, body=None, headers=None, status=200, data=None):
        fields = {"Authorization": "Bearer " + self.bearer} if self.bearer else {}
        if self.session:
            fields["Grapevine-Token"] = self.session
        fields |= headers or {}
        data = json.dumps(body) if body is not None else data
        self.connection.request(
            method, "/v1/" + path, data, fields, encode_chunked="Transfer-Encoding" in fields)
        reply = Reply(self.connection.getresponse())
        wanted = status if isinstance(status, tuple) else (status,)
        assert reply.status in wanted, (method, path, reply.status, reply.body[:500])
        if reply.status >= 400:
            empty = method == "HEAD" or reply.status == 416
            assert empty or reply.json["error"]["code"] == reply.status, reply.body
        self.session = reply.token or self.session
        return reply

    def upload(self, conversation, file, data, chunk=None, **more):
        """Uploads a file; with `chunk`, in chunks of this many bytes."""
        path = f"conversations/{conversation}/blobs/{file}"
        if chunk:
            pieces = (data[at:at + chunk] for at in range(0, len(data), chunk))
            headers = more.pop("headers", {}) | {"Transfer-Encoding": "chunked"}
            return self.put(path, data=pieces, headers=headers, **more)
        return self.put(path, data=data, **more)

    def download(self, conversation, file, **more):
        return self.get(f"conversations/{conversation}/blobs/{file}", **more)

    def send(self, conversation, file, **more):
        """Sends an uploaded file with a message; returns the message's id."""
        status = more.pop("status", 200)
        body = {"text": "", "type": "image", "blob": file} | more
        path = f"conversations/{conversation}/messages"
        return self.post(path, body, status=status).json.get("id")

    def share(self, conversation, file, data, **more):
        """Uploads a file and sends it with a message; returns the message's id."""
        self.upload(conversation, file, data)
        return self.send(conversation, file, **more)

    def retract(self, conversation, message, **more):
        return self.delete(f"conversations/{conversation}/messages/{message}?for=everyone", **more)

    def at(self, node):
        """Returns this client as it goes on at a node, over a new connection."""
        other = FileApp(node, self.user)
        other.bearer, other.session = self.bearer, self.session
        return other

    def fresh(self, node):
        """Returns a client of the same user that has seen nothing."""
        other = self.at(node)
        other.session = None
        return other


def chat(cluster, name, *users):
    """Creates a conversation, and returns a client on the first node for each user."""
    apps = [FileApp(cluster.nodes[0], user) for user in users]
    apps[0].post("conversations", {"id": name, "participants": list(users[1:])})
    for app in apps:
        app.session = apps[0].session
    return apps


def content(size, seed=0):
    """Returns bytes that look like an image, the same for the same seed."""
    return (PNG + random.Random(seed).randbytes(size))[:size]


def head(app, method, path, *more):
    fields = [f"{method} /v1/{path} HTTP/1.1", "Host: a", f"Authorization: Bearer {app.bearer}"]
    return "\r\n".join([*fields, *more, "", ""]).encode()


def connection(node):
    return socket.create_connection(("127.0.0.1", node.http), timeout=10)


def read_response(lines, method="GET"):
    """Reads one response from a connection's file; returns its status, head and body."""
    status = lines.readline()
    assert status.startswith(b"HTTP/1.1 "), status
    fields = http.client.parse_headers(lines)
    length = 0 if method == "HEAD" else int(fields["Content-Length"] or 0)
    body = lines.read(length)
    assert len(body) == length, f"{len(body)} of {length} bytes"
    return int(status.split()[1]), fields, body


def break_off(app, conversation, file, data, size, **more):
    """Sends the head of an upload and the first bytes of its body, and closes the connection."""
    path = f"conversations/{conversation}/blobs/{file}"
    with connection(app.node) as line:
        line.sendall(head(app, "PUT", path, f"Content-Length: {size}") + data)
        until(lambda: app.node.ask(f"FILE SHOW {conversation} {file} {app.user}")[-1] == "OK",
              "the upload has begun")


# MARK: Upload and download


@check
def files_arrive_byte_for_byte_on_every_node(cluster):
    """Of any size, with a length or in chunks, by whichever node they are uploaded."""
    alice, bob = chat(cluster, "sizes", "alice", "bob")
    sizes = [0, 1, 63, 64, 65, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, MIB, FILE_BYTES_MAX]
    for number, size in enumerate(sizes):
        data = content(size, number)
        kind = "image/png" if size >= len(PNG) else "application/octet-stream"
        for chunk in (None, 7 if size < 100 else 50_000):
            if size == FILE_BYTES_MAX and chunk:
                continue
            file = f"f{number}-{chunk or 'plain'}"
            app = alice.at(cluster.nodes[number % 3])
            reply = app.upload("sizes", file, data, chunk)
            assert reply.json == {"id": file, "type": kind, "size": size}, reply.json
            assert reply.headers["Content-Type"] == "application/json"
            # At once, without a session token.
            for node in cluster.nodes:
                got = bob.fresh(node).download("sizes", file)
                assert got.body == data, (file, node.name, len(got.body))
                assert got.headers["Content-Length"] == str(size)
                assert got.headers["Content-Type"] == kind, got.headers["Content-Type"]


@check
def a_file_is_sent_with_a_message(cluster):
    alice, bob = chat(cluster, "sent", "alice", "bob")
    data = content(100_000)
    # The client chooses the id in the path or in the query, or has the node choose it.
    for method, query in (("PUT", "?id=q1"), ("POST", "?id=q2"), ("PUT", ""), ("POST", "")):
        reply = alice.request(method, "conversations/sent/blobs" + query, data=data).json
        assert reply.keys() == {"id", "type", "size"} and reply["size"] == len(data), reply
        assert not query or query.endswith("=" + reply["id"]), reply
        bob.download("sent", reply["id"])
    with connection(cluster.nodes[1]) as line:
        line.sendall(head(bob, "GET", "events"))
        events = line.makefile("rb")
        until(lambda: b"watching" in events.readline(), "bob watches")
        message = alice.send("sent", "q1", id="m1", text="the table")
        assert message == "m1"
        told = b""
        while b'"id":"m1"' not in told:
            told = events.readline()
        event = json.loads(told.partition(b"data: ")[2])
        assert (event["blob"], event["type"], event["text"]) == ("q1", "image", "the table"), event
    alice.send("sent", "q2", id="m2", type="voice")
    for node in cluster.nodes:
        messages = bob.at(node).get(
            "conversations/sent/messages", headers={"Grapevine-Token": alice.session}
        ).json["messages"]
        shown = [(each["id"], each["type"], each["blob"], each["text"]) for each in messages]
        assert shown == [("m1", "image", "q1", "the table"), ("m2", "voice", "q2", "")], shown
    # The same requests again change nothing, and are answered alike.
    for node in cluster.nodes:
        again = alice.at(node)
        assert again.upload("sent", "q1", data).json["size"] == len(data)
        assert again.send("sent", "q1", id="m1", text="the table") == "m1"
    assert len(bob.get("conversations/sent/messages").json["messages"]) == 2
    alice.post("conversations/sent/messages", {"text": "x", "blob": "none"}, status=404)
    alice.post("conversations/sent/messages", {"text": "x", "blob": "a b"}, status=400)


@check
def a_message_has_a_preview_of_its_file(cluster):
    """Which is a small file of its own, and is deleted with the message."""
    alice, bob = chat(cluster, "previews", "alice", "bob")
    alice.upload("previews", "large", content(16_385))
    alice.upload("previews", "small", content(16_384, 1))
    alice.upload("previews", "file", content(100_000, 2))
    alice.send("previews", "file", preview="large", status=413)
    alice.send("previews", "file", preview="none", status=404)
    alice.send("previews", "file", preview="file", status=413)
    alice.post("conversations/previews/messages", {"text": "x", "preview": "small"}, status=400)
    message = alice.send("previews", "file", preview="small")
    bob.session = alice.session
    shown = bob.get("conversations/previews/messages").json["messages"]
    assert [(each["blob"], each["preview"]) for each in shown] == [("file", "small")], shown
    alice.send("previews", "large", preview="small", status=409)
    assert bob.download("previews", "small").body == content(16_384, 1)
    alice.retract("previews", message)
    bob.session = alice.session
    for file in ("file", "small"):
        bob.download("previews", file, status=404)
    shown = bob.get("conversations/previews/messages").json["messages"]
    assert "preview" not in shown[0] and "blob" not in shown[0], shown


TYPES = [
    (PNG, "image/png"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
    (b"GIF89a\x01\x00\x01\x00", "image/gif"),
    (b"GIF87a\x01\x00\x01\x00", "image/gif"),
    (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    (b"ID3\x04\x00\x00\x00\x00\x00\x00", "audio/mpeg"),
    (b"\xff\xfb\x90\x64\x00", "audio/mpeg"),
    (b"OggS\x00\x02", "audio/ogg"),
    (b"RIFF\x24\x00\x00\x00WAVEfmt ", "audio/wav"),
    (b"\x00\x00\x00\x18ftypM4A \x00", "audio/mp4"),
    (b"\x00\x00\x00\x18ftypmp42\x00", "video/mp4"),
    (b"\x00\x00\x00\x20ftypisom\x00", "video/mp4"),
    (b"\x1a\x45\xdf\xa3\x9f", "video/webm"),
    (b"%PDF-1.7\n", "application/pdf"),
    (b"<!DOCTYPE html><script>alert(1)</script>", "application/octet-stream"),
    (b"\n <html><body onload=alert(1)>", "application/octet-stream"),
    (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "application/octet-stream"),
    (b"alert(document.cookie)", "application/octet-stream"),
    (b"x" + PNG, "application/octet-stream"),
    (PNG[:-1], "application/octet-stream"),
]


@check
def a_type_is_told_by_the_content(cluster):
    """What is no image, sound or video is stored by a browser and not shown, whatever it is said
    to be."""
    alice, bob = chat(cluster, "types", "alice", "bob")
    for number, (start, kind) in enumerate(TYPES):
        for claimed in ("image/png", "text/html"):
            file = f"t{number}-{claimed[:4]}.html"
            reply = alice.upload(
                "types", file, start + b"\0" * 100 * (claimed == "image/png"),
                headers={"Content-Type": claimed})
            assert reply.json["type"] == kind, (start, reply.json)
            got = bob.at(cluster.nodes[number % 3]).download("types", file)
            assert got.headers["Content-Type"] == kind, (start, got.headers["Content-Type"])
            shown = kind.startswith(("image/", "audio/", "video/"))
            disposition = got.headers["Content-Disposition"]
            assert disposition.startswith("inline" if shown else "attachment"), disposition
            assert got.headers["X-Content-Type-Options"] == "nosniff"
            assert "default-src 'none'" in got.headers["Content-Security-Policy"]


@check
def a_file_that_is_too_large_is_not_read(cluster):
    """413 to the head alone, and to the first chunk too many."""
    alice, bob = chat(cluster, "large", "alice", "bob")
    path = "conversations/large/blobs/"
    more = "Expect: 100-continue"
    for size in (FILE_BYTES_MAX + 1, 1 << 40):
        with connection(cluster.nodes[0]) as line:
            line.sendall(head(alice, "PUT", path + "x1", f"Content-Length: {size}", more))
            # Nothing of the body is sent, and the answer comes.
            text = line.makefile("rb").read()
            assert text.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in text, text
    # In chunks, nobody knows before. The answer may come while the client sends.
    with connection(cluster.nodes[0]) as line:
        line.sendall(head(alice, "PUT", path + "x2", "Transfer-Encoding: chunked"))
        chunk = b"%x\r\n" % MIB + bytes(MIB) + b"\r\n"
        for _ in range(25):
            line.sendall(chunk)
        line.sendall(b"1\r\nx\r\n")
        text = line.makefile("rb").read()
        assert text.startswith(b"HTTP/1.1 413 "), text[:300]
    for node in cluster.nodes:
        for file in ("x1", "x2"):
            bob.at(node).download("large", file, status=404)
    alice.send("large", "x2", status=404)


@check
def a_client_that_sends_on_still_reads_the_refusal(cluster):
    """A client that sends all of a body and only then reads is told why it was refused."""
    alice, = chat(cluster, "refusal", "alice")
    carol = FileApp(cluster.nodes[0], "carol")
    alice.upload("refusal", "r2", content(100))
    wanted = [
        (carol, content(10_000), 403), (carol, content(3 * MIB), 403),
        (alice, content(5 * MIB, 9), 409), (alice, content(FILE_BYTES_MAX + 1), 413),
    ]
    for number, (app, data, status) in enumerate(wanted):
        path = f"conversations/refusal/blobs/r{number}"
        with connection(cluster.nodes[0]) as line:
            line.sendall(head(app, "PUT", path, f"Content-Length: {len(data)}"))
            line.sendall(data)
            assert read_response(line.makefile("rb"))[0] == status, (number, status)


# MARK: Ranges and conditions


@check
def a_range_of_a_file_is_sent(cluster):
    alice, bob = chat(cluster, "ranges", "alice", "bob")
    data = content(100_000)
    alice.share("ranges", "r1", data)
    size, ends = len(data), (0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 65_535, 99_999)
    parts = [(f"{first}-{last}", first, last + 1) for first in ends for last in ends
             if first <= last]
    parts += [(f"{first}-", first, size) for first in ends]
    parts += [(f"-{length}", size - length, size) for length in ends if length]
    parts += [("0-100000", 0, size), ("99999-999999999999", 99_999, size), ("-200000", 0, size)]
    for number, (asked, first, end) in enumerate(parts):
        app = bob.at(cluster.nodes[number % 3]) if number < 6 else bob
        got = app.download("ranges", "r1", headers={"Range": "bytes=" + asked}, status=206)
        assert got.body == data[first:end], (asked, len(got.body))
        assert got.headers["Content-Range"] == f"bytes {first}-{end - 1}/{size}", asked
        assert got.headers["Content-Length"] == str(end - first)
        assert got.headers["Content-Type"] == "image/png"
        assert got.headers["X-Content-Type-Options"] == "nosniff"
    for outside in ("100000-", "100000-100001", "-0", "999999999999-"):
        got = bob.download("ranges", "r1", headers={"Range": "bytes=" + outside}, status=416)
        assert got.headers["Content-Range"] == f"bytes */{size}", outside
    # Several at once, another unit and nonsense are answered with the whole file.
    for whole in ("bytes=0-0,5-6", "bytes=0-0, -1", "lines=1-2", "bytes=", "bytes=-", "bytes=5-4",
                  "bytes=a-b", "bytes=1", "0-1", "bytes=+1-2", "bytes=1-2-3"):
        got = bob.download("ranges", "r1", headers={"Range": whole})
        assert got.body == data and got.headers["Accept-Ranges"] == "bytes", whole
        assert got.headers["Content-Range"] is None
    alice.upload("ranges", "empty", b"")
    bob.download("ranges", "empty", headers={"Range": "bytes=0-0"}, status=416)
    # Somebody else learns nothing of its size.
    carol = FileApp(cluster.nodes[0], "carol")
    got = carol.download("ranges", "r1", headers={"Range": "bytes=100000-"}, status=403)
    assert got.headers["Content-Range"] is None


@check
def a_range_of_another_file_is_not_sent(cluster):
    """If-Range with anything but the file's tag: the whole file (RFC 9110, section 13.1.5)."""
    alice, bob = chat(cluster, "ifrange", "alice", "bob")
    data = content(50_000)
    alice.share("ifrange", "r1", data)
    tag = bob.download("ifrange", "r1").headers["ETag"]
    fields = {"Range": "bytes=0-9", "If-Range": tag}
    assert bob.download("ifrange", "r1", headers=fields, status=206).body == data[:10]
    for other in ('"another"', "Wed, 25 Nov 2026 09:00:00 GMT"):
        got = bob.download("ifrange", "r1", headers=fields | {"If-Range": other})
        assert got.body == data, other


@check
def a_file_that_a_client_has_is_not_sent_again(cluster):
    alice, bob = chat(cluster, "tags", "alice", "bob")
    data = content(70_000)
    message = alice.share("tags", "e1", data)
    first = bob.download("tags", "e1")
    tag = first.headers["ETag"]
    assert tag.startswith('"') and tag.endswith('"') and tag != '""', tag
    assert "private" in first.headers["Cache-Control"], first.headers["Cache-Control"]
    for node in cluster.nodes:
        app = bob.at(node)
        for held in (tag, "W/" + tag, f'"other", {tag}', "*"):
            got = app.download("tags", "e1", headers={"If-None-Match": held}, status=304)
            assert got.body == b"" and got.headers["ETag"] == tag, held
        got = app.download("tags", "e1", headers={"If-None-Match": '"other"'})
        assert got.body == data and got.headers["ETag"] == tag
    # What a head says of a file is what its download says.
    for more, status in (({}, 200), ({"Range": "bytes=10-19"}, 206)):
        path = "conversations/tags/blobs/e1"
        seen = bob.request("HEAD", path, headers=more, status=status)
        got = bob.request("GET", path, headers=more, status=status)
        assert seen.body == b"", seen.body[:100]
        assert {key: seen.headers[key] for key in seen.headers if key != "Date"} == {
            key: got.headers[key] for key in got.headers if key != "Date"}
    # A client that has a file is not told that it is unchanged once it may not read it.
    carol = FileApp(cluster.nodes[0], "carol")
    carol.download("tags", "e1", headers={"If-None-Match": tag}, status=403)
    carol.request("HEAD", "conversations/tags/blobs/e1", status=403)
    alice.retract("tags", message)
    bob.session = alice.session
    bob.download("tags", "e1", headers={"If-None-Match": tag}, status=404)
    bob.request("HEAD", "conversations/tags/blobs/e1", status=404)


# MARK: Rights


@check
def participants_alone_may_upload_and_download(cluster):
    alice, bob = chat(cluster, "rights", "alice", "bob")
    secret = b"nobody else reads this"
    alice.share("rights", "s1", PNG + secret)
    alice.upload("rights", "s2", PNG + secret)
    path = "conversations/rights/blobs/"
    for node in cluster.nodes:
        carol = FileApp(node, "carol")
        for file in ("s1", "s2", "none"):
            reply = carol.download("rights", file, status=403)
            assert secret not in reply.body and reply.error == "Only participants can do this"
            assert reply.headers["ETag"] is None
            carol.upload("rights", file, PNG + secret, status=403)
            carol.upload("rights", file, content(100_000), 5_000, status=403)
        # Signed in as nobody.
        for bearer in (None, "x", alice.bearer + "x"):
            nobody = FileApp(node, "alice")
            nobody.bearer = bearer
            for method, target in (("GET", "s1"), ("HEAD", "s1"), ("PUT", "s1"), ("PUT", "new"),
                                   ("POST", ""), ("PUT", "?id=new")):
                data = content(1_000) if method in ("PUT", "POST") else None
                target = (path + target).replace("/?", "?").rstrip("/")
                reply = nobody.request(method, target, data=data, status=401)
                assert reply.headers["WWW-Authenticate"] == "Bearer" and secret not in reply.body
    # In a conversation that does not exist.
    alice.upload("nowhere", "s1", secret, status=404)
    alice.download("nowhere", "s1", status=404)
    # A file is found in its own conversation only.
    alice.post("conversations", {"id": "rights2", "participants": ["carol"]})
    carol = FileApp(cluster.nodes[0], "carol")
    carol.session = alice.session
    carol.download("rights2", "s1", status=404)
    carol.send("rights2", "s1", status=404)
    # Who comes later reads it, and who has left does not.
    alice.put("conversations/rights/participants/carol")
    carol.session = alice.session
    assert carol.download("rights", "s1").body == PNG + secret
    carol.post("conversations/rights/leave")
    carol.download("rights", "s1", status=403)


@check
def a_file_belongs_to_its_uploader_and_to_one_message(cluster):
    alice, bob = chat(cluster, "owned", "alice", "bob")
    data = content(50_000)
    alice.upload("owned", "o1", data)
    for node in cluster.nodes:
        other = bob.at(node)
        other.upload("owned", "o1", data, status=(403, 409))
        other.upload("owned", "o1", content(50_000, 1), status=(403, 409))
        other.send("owned", "o1", status=403)
        # Nor does its owner change it.
        for changed in (content(50_000, 1), data[:-1], data[:40_000], data + b"x",
                        b"GIF89a" + data[6:], b""):
            alice.at(node).upload("owned", "o1", changed, status=409)
    assert bob.download("owned", "o1").body == data
    alice.send("owned", "o1", id="first")
    for node in cluster.nodes:
        app = alice.at(node)
        app.send("owned", "o1", id="second", status=409)
        app.send("owned", "o1", status=409)
        other = bob.at(node)
        other.session = alice.session
        other.send("owned", "o1", status=403)
    messages = bob.get("conversations/owned/messages").json["messages"]
    assert [message["id"] for message in messages] == ["first"]


@check
def what_is_no_request_for_a_file_is_refused(cluster):
    alice, bob = chat(cluster, "forms", "alice", "bob")
    path = "conversations/forms/blobs"
    alice.put(path + "/" + "x" * 41, data=b"x")
    for target in ("/" + "x" * 42, "?id=" + "x" * 42, "?id=a%20b", "?id=", "?name=x", "?id=a&id=b",
                   "/f1?id=f2"):
        reply = alice.put(path + target, data=b"x", status=400)
        assert reply.error
    for target in ("/a%20b", "/" + "x" * 200):
        alice.put(path + target, data=b"x", status=(400, 404, 405))
        alice.get(path + target, status=(400, 404, 405))
    alice.put(path + "/f1", data=b"x")
    alice.get(path + "/f1?part=1", status=400)
    allowed = alice.delete(path + "/f1", status=405).headers["Allow"]
    assert allowed == "GET, PUT, HEAD, OPTIONS", allowed
    alice.get(path, status=405)
    bob.download("forms", "none", status=404)
    origin = {"Origin": "https://evil.example"}
    alice.upload("forms", "f2", b"x", headers=origin, status=403)
    alice.download("forms", "f1", headers=origin, status=403)


# MARK: Uploads that break off


@check
def an_unfinished_file_is_neither_sent_nor_read(cluster):
    """And another is uploaded under the same id, at whichever node, and then no other."""
    alice, bob = chat(cluster, "broken", "alice", "bob")
    data = content(200_000)
    for number, node in enumerate(cluster.nodes):
        file = f"b{number}"
        break_off(alice.at(node), "broken", file, data[:150_000], len(data))
        alice.send("broken", file, status=404)
        alice.download("broken", file, status=404)
        other = alice.at(cluster.nodes[(number + 1) % 3])
        # Of a longer file the first parts are here already; they are not this one's.
        data = content(180_000, number) if number else data
        assert other.upload("broken", file, data).json["size"] == len(data)
        assert other.upload("broken", file, data).json["size"] == len(data)
        other.upload("broken", file, content(200_000, 7), status=409)
        other.send("broken", file)
        bob.session = other.session
        for each in cluster.nodes:
            assert bob.at(each).download("broken", file).body == data


@check
def the_same_upload_may_run_several_times_at_once(cluster):
    """A client that has waited too long for an answer repeats its upload while the first runs."""
    alice, bob = chat(cluster, "twice", "alice", "bob")
    data = content(2 * MIB)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        apps = [alice.at(node) for node in [*cluster.nodes, cluster.nodes[0]]]
        replies = [pool.submit(app.upload, "twice", "f1", data) for app in apps]
        assert all(reply.result().json["size"] == len(data) for reply in replies)
    for node in cluster.nodes:
        assert bob.at(node).download("twice", "f1").body == data


@check
def a_user_has_100_mib_at_most_that_are_not_sent(cluster):
    first, second, third = cluster.nodes
    hoarder, other = chat(cluster, "unsent", "hoarder", "other")
    largest = content(25 << 20)
    for number in range(4):
        hoarder.at(cluster.nodes[number % 3]).upload("unsent", f"u{number}", largest)
    for node in cluster.nodes:
        refusal = hoarder.at(node).upload("unsent", f"more-{node.name}", b"x", status=429)
        assert "100 MiB that are not sent" in refusal.json["error"]["message"], refusal.body
        assert refusal.headers["Retry-After"] == "3600", refusal.headers
        # An upload that was not answered is repeated, and others are not concerned.
        hoarder.at(node).upload("unsent", "u3", largest)
        other.at(node).upload("unsent", f"other-{node.name}", b"x")
    hoarder.send("unsent", "u0")
    for node in cluster.nodes:
        hoarder.at(node).upload("unsent", f"less-{node.name}", b"x")


@check
def uploads_under_way_count_as_what_their_heads_promise(cluster):
    node = cluster.nodes[0]
    eager, other = chat(cluster, "eager", "eager", "other")

    def begin(number):
        opened = connection(node)
        path = f"conversations/eager/blobs/e{number}"
        opened.sendall(head(eager, "PUT", path, f"Content-Length: {FILE_BYTES_MAX}") + PNG)
        return opened

    def answer():
        return eager.at(node).upload("eager", "small", b"x", status=(200, 429)).status

    connections = [begin(number) for number in range(4)]
    until(lambda: answer() == 429, "four uploads are under way")
    refusal = eager.at(node).upload("eager", "small", b"x", status=429)
    assert "begin another when one of them has ended" in refusal.json["error"]["message"]
    assert refusal.headers["Retry-After"] == "1", refusal.headers
    other.at(node).upload("eager", "others", b"x")
    connections.pop().close()
    until(lambda: answer() == 200, "an upload that is broken off counts no longer")
    for each in connections:
        each.close()


@check
def a_connection_goes_on_after_an_upload(cluster):
    """Requests that were sent behind an upload are answered behind it, in their order."""
    alice, bob = chat(cluster, "behind", "alice", "bob")
    path = "conversations/behind/blobs/"
    data = content(150_000)
    for number, (node, length) in enumerate([(n, k) for n in cluster.nodes for k in (True, False)]):
        first, second = f"p{number}a", f"p{number}b"
        whole = b""
        for file in (first, second):
            if length:
                whole += head(alice, "PUT", path + file, f"Content-Length: {len(data)}") + data
            else:
                whole += head(alice, "PUT", path + file, "Transfer-Encoding: chunked")
                for start in range(0, len(data), 9_999):
                    chunk = data[start:start + 9_999]
                    whole += b"%x\r\n" % len(chunk) + chunk + b"\r\n"
                whole += b"0\r\n\r\n"
        # A small request, a download, another download that fails, and a message.
        whole += head(alice, "GET", "chats/behind")
        whole += head(alice, "GET", path + first) + head(alice, "GET", path + "none")
        whole += head(alice, "HEAD", path + second)
        body = json.dumps({"text": "", "type": "image", "blob": first}).encode()
        whole += head(alice, "POST", "conversations/behind/messages",
                      f"Content-Length: {len(body)}") + body
        whole += head(alice, "GET", path + second, "Connection: close")
        with connection(node) as line:
            line.sendall(whole)
            lines = line.makefile("rb")
            got = [read_response(lines, method) for method in (
                "PUT", "PUT", "GET", "GET", "GET", "HEAD", "POST", "GET")]
            assert [status for status, _, _ in got] == [200] * 4 + [404] + [200] * 3, got[0]
            assert json.loads(got[0][2])["id"] == first and json.loads(got[1][2])["id"] == second
            assert json.loads(got[2][2])["participants"] == ["alice", "bob"]
            assert got[3][2] == data and got[7][2] == data
            assert lines.read() == b""


@check
def a_client_that_has_sent_all_and_ends_its_side_is_answered(cluster):
    alice, = chat(cluster, "ends", "alice")
    data, lost = content(300_000), []
    for number in range(20):
        path = f"conversations/ends/blobs/h{number}"
        with connection(cluster.nodes[number % 3]) as line:
            line.sendall(head(alice, "PUT", path, f"Content-Length: {len(data)}") + data)
            line.shutdown(socket.SHUT_WR)
            answer = line.makefile("rb").read()
            if not answer.startswith(b"HTTP/1.1 200 "):
                lost.append(answer[:50])
    assert not lost, f"{len(lost)} of 20 uploads were not answered: {set(lost)}"


@check
def a_slow_upload_arrives(cluster):
    """A byte at a time, and no other request waits for it."""
    alice, bob = chat(cluster, "slow", "alice", "bob")
    data = content(300)
    whole = head(alice, "PUT", "conversations/slow/blobs/f1", f"Content-Length: {len(data)}") + data
    with connection(cluster.nodes[0]) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in whole:
            line.sendall(bytes([byte]))
            time.sleep(0.002)
        assert read_response(line.makefile("rb"))[0] == 200
    assert bob.at(cluster.nodes[1]).download("slow", "f1").body == data


# MARK: Deaths


@check
def files_outlive_the_node_that_stored_them(cluster):
    """kill -9 right after the answer, and in the middle of an upload."""
    alice, bob = chat(cluster, "deaths", "alice", "bob")
    third = cluster.nodes[2]
    data, late = content(3 * MIB), content(MIB, 1)
    alice.at(third).upload("deaths", "d1", data)
    break_off(alice.at(third), "deaths", "d2", late[:800_000], len(late))
    with down(cluster, third):
        alice.send("deaths", "d1")
        alice.at(cluster.nodes[1]).upload("deaths", "d2", late)
        alice.send("deaths", "d2")
        bob.session = alice.session
        for node in cluster.nodes[:2]:
            assert bob.at(node).download("deaths", "d1").body == data
            assert bob.at(node).download("deaths", "d2").body == late
    for file, wanted in (("d1", data), ("d2", late)):
        assert bob.at(third).download("deaths", file).body == wanted


# MARK: Deletion


class Marked:
    """A file of several parts that is full of a text that stands nowhere else."""

    def __init__(self, cluster, size=100_000):
        self.cluster = cluster
        self.text = b"marker-" + uuid.uuid4().hex.encode()
        self.data = PNG + self.text * (size // len(self.text))
        # What base64 makes of the text, wherever it begins.
        coded = [base64.b64encode(bytes(start) + self.text) for start in range(3)]
        self.needles = [self.text] + [each[4:len(each) // 4 * 4 - 4] for each in coded]

    def files(self, node=None):
        """Returns the files of the node, or of all nodes, that contain the text."""
        return disk_files(os.path.join(self.cluster.folder, node.name if node else ""), self)

    def is_on_every_disk(self):
        return all(self.files(node) for node in self.cluster.nodes)


def disk_files(folder, *all_marked):
    """Returns the files of the folder that contain the text of one of those.

    All texts are looked for at once: to read the files of a node may take half a second.
    """
    needles = [word for marked in all_marked for needle in marked.needles
               for word in ("-e", needle.decode())]
    found = subprocess.run(
        ["grep", "-r", "-a", "-l", "-F", *needles, folder], stdout=subprocess.PIPE)
    return found.stdout.decode().split()


def gone(marked, *nodes):
    for node in nodes:
        until(lambda: not marked.files(node),
              f"the bytes of a deleted file have left the disk of {node.name}", PURGED_WITHIN)


@check
def a_deleted_file_is_nowhere(cluster):
    """Its download is refused at once, and its bytes leave every disk."""
    alice, bob = chat(cluster, "deleted", "alice", "bob")
    shared = []
    for kind, size in (("image", FILE_BYTES_MAX - KIB), ("voice", 100_000)):
        marked = Marked(cluster, size)
        shared.append((kind, marked, alice.share("deleted", kind, marked.data, type=kind)))
    kept = Marked(cluster)
    alice.share("deleted", "kept", kept.data)
    for kind, marked, message in shared:
        until(marked.is_on_every_disk, "the file is on every disk")
        # A deletion for one user leaves the file to the others.
        bob.session = alice.session
        bob.delete(f"conversations/deleted/messages/{message}")
        alice.download("deleted", kind)
        bob.retract("deleted", message, status=403)
        alice.download("deleted", kind)
        alice.retract("deleted", message)
        for node in cluster.nodes:
            for app in (alice, bob):
                # With the session's token there is no other answer, and without it soon.
                reader = app.at(node)
                reader.session = alice.session
                reply = reader.download("deleted", kind, status=404)
                assert marked.text not in reply.body
                reader.request("HEAD", f"conversations/deleted/blobs/{kind}", status=404)
                other = app.fresh(node)
                until(lambda: other.download("deleted", kind, status=(200, 404)).status == 404,
                      "404 without a session token, too", 1)
    for _, marked, _ in shared:
        gone(marked, *cluster.nodes)
    # Other files stay, and a deleted one cannot be uploaded or sent again.
    assert bob.download("deleted", "kept").body == kept.data and kept.is_on_every_disk()
    for kind, marked, _ in shared:
        for node in cluster.nodes:
            alice.at(node).upload("deleted", kind, marked.data, status=(404, 409))
            alice.at(node).send("deleted", kind, status=404)
    assert not any(marked.files() for _, marked, _ in shared)


@check
def a_deletion_during_a_download_ends_it(cluster):
    """The client sees that the answer is not whole."""
    alice, bob = chat(cluster, "during", "alice", "bob")
    data = content(20 * MIB)
    message = alice.share("during", "d1", data)
    with connection(cluster.nodes[1]) as line:
        line.sendall(head(bob, "GET", "conversations/during/blobs/d1"))
        received = line.recv(100)
        alice.retract("during", message)
        with contextlib.suppress(ConnectionResetError):
            while more := line.recv(MIB):
                received += more
    assert received.startswith(b"HTTP/1.1 200 "), received[:100]
    assert len(received) < len(data), "all of a deleted file was sent"


@check
def a_deleted_file_does_not_come_back_with_a_node_that_was_down(cluster):
    alice, bob = chat(cluster, "returns", "alice", "bob")
    sent, unsent = Marked(cluster), Marked(cluster)
    message = alice.share("returns", "r1", sent.data)
    alice.upload("returns", "r2", unsent.data)
    for marked in (sent, unsent):
        until(marked.is_on_every_disk, "the file is on every disk")
    third = cluster.nodes[2]
    with down(cluster, third):
        alice.retract("returns", message)
        alice.retract("returns", alice.send("returns", "r2"))
        for marked in (sent, unsent):
            gone(marked, *cluster.nodes[:2])
            assert marked.files(third), "the disk of a dead node has changed"
    for node in cluster.nodes:
        for file in ("r1", "r2"):
            app = bob.at(node)
            app.session = alice.session
            app.download("returns", file, status=404)
    for marked in (sent, unsent):
        gone(marked, *cluster.nodes)


@check
def many_files_are_purged_while_a_node_is_down(cluster):
    """Those that wait for that node alone do not keep others from being purged here."""
    alice, = chat(cluster, "many", "alice")
    all_marked = [Marked(cluster, 1_000) for _ in range(20)]
    with down(cluster, cluster.nodes[2]):
        messages = [alice.share("many", f"n{number}", marked.data)
                    for number, marked in enumerate(all_marked)]
        for message in messages:
            alice.retract("many", message)
        for node in cluster.nodes[:2]:
            folder = os.path.join(cluster.folder, node.name)
            until(lambda: not disk_files(folder, *all_marked),
                  f"the bytes of all of them have left the disk of {node.name}", PURGED_WITHIN)


@check
def two_thousand_files_are_purged_within_seconds(cluster):
    """Also while a node is down, and behind many files that wait for it."""
    alice, = chat(cluster, "thousands", "alice")
    first = cluster.nodes[0]
    text = "many-" + uuid.uuid4().hex
    count = 1_000

    def left(node, start):
        folder = os.path.join(cluster.folder, node.name)
        found = subprocess.run(
            ["grep", "-r", "-a", "-l", "-F", "-e", f"{text}-{start}-", folder], stdout=subprocess.PIPE)
        return found.stdout.split()

    def share(start):
        lines = [f"AUTH {alice.bearer}"]
        for number in range(start, start + count):
            data = f"{text}-{start}-{number}".encode()
            part = base64.urlsafe_b64encode(hashlib.sha256(data).digest()[:16]).decode().rstrip("=")
            coded = base64.urlsafe_b64encode(data).decode().rstrip("=")
            place = f"thousands n{number} alice"
            lines += [
                f"FILE ADD thousands alice id=n{number}", f"FILE PUT {place} {part} {coded}",
                f"FILE END {place} size={len(data)} parts={part}",
                f"SEND thousands alice id=m{number} type=image blob=n{number} --"]
        assert not [line for line in first.ask(*lines) if not line.startswith("OK")]

    def retract(start):
        lines = [f"DELETE thousands m{number} alice for=everyone"
                 for number in range(start, start + count)]
        assert set(first.ask(f"AUTH {alice.bearer}", *lines)) == {"OK"}

    share(0)
    converge(cluster)
    with down(cluster, cluster.nodes[2]):
        share(count)
        for start in (0, count):
            retract(start)
            for node in cluster.nodes[:2]:
                until(lambda: not left(node, start), f"{node.name} has purged them", PURGED_WITHIN)
    until(lambda: not left(cluster.nodes[2], 0), "so has the node that was down", PURGED_WITHIN)


@check
def a_part_that_an_evicted_node_alone_had_does_not_spread(cluster):
    alice, = chat(cluster, "evicted", "alice")
    first, second, third = cluster.nodes
    marked = Marked(cluster, 20_000)
    part = base64.urlsafe_b64encode(hashlib.sha256(marked.data).digest()[:16]).decode().rstrip("=")
    coded = base64.urlsafe_b64encode(marked.data).decode().rstrip("=")
    sign_in = f"AUTH {alice.bearer}"
    assert first.ask(sign_in, "FILE ADD evicted alice id=e1") == ["OK", "OK"]
    converge(cluster)
    for node, other in ((third, first), (third, second), (first, third), (second, third)):
        assert node.ask(f"BLOCK {other.name}") == ["OK"]
    assert third.ask(sign_in, f"FILE PUT evicted e1 alice {part} {coded}") == ["OK", "OK"]
    third.kill()
    for node in (first, second):
        node.ask("UNBLOCK *")
    assert first.ask("FILE CLOSE evicted e1") == ["OK"]
    until(lambda: first.ask("FORGET n3") == ["OK"], "a dead node is forgotten", 30)
    until(lambda: not any("id=e1" in line for line in first.ask("FILES")),
          "the file is purged without the evicted node", PURGED_WITHIN)
    assert marked.files(third) and not marked.files(first)
    third.start(*cluster.nodes)
    converge(cluster)
    gone(marked, *cluster.nodes)
    first.ask("SCRUB")
    assert not marked.files()


@check
def a_deletion_on_one_side_of_a_cut_holds_on_both(cluster):
    alice, bob = chat(cluster, "cut", "alice", "bob")
    marked, sent_later, loser = Marked(cluster), Marked(cluster), Marked(cluster)
    message = alice.share("cut", "c1", marked.data)
    alice.upload("cut", "c2", sent_later.data)
    alice.upload("cut", "c3", loser.data)
    until(marked.is_on_every_disk, "the file is on every disk")
    converge(cluster)
    first, second, third = cluster.nodes
    away = alice.fresh(third)
    with cut_off(cluster, third):
        alice.retract("cut", message)
        alice.at(second).download("cut", "c1", status=404)
        # The other side does not know yet, and reads and sends.
        assert bob.fresh(third).download("cut", "c1").body == marked.data
        here = away.send("cut", "c2", id="there")
        alice.send("cut", "c3", id="here-c3")
        time.sleep(0.05)
        away.send("cut", "c3", id="there-c3")
        # What is uploaded on the small side is read on both afterwards.
        away.upload("cut", "c4", content(90_000, 4))
        away.send("cut", "c4", id="c4")
    for node in cluster.nodes:
        bob.fresh(node).download("cut", "c1", status=404)
        for file, data in (("c2", sent_later.data), ("c3", loser.data), ("c4", content(90_000, 4))):
            assert bob.fresh(node).download("cut", file).body == data, (node.name, file)
    gone(marked, *cluster.nodes)
    # Both messages have the file: without them nobody reads it.
    for each in (here, "here-c3"):
        alice.fresh(first).retract("cut", each)
    assert bob.fresh(third).download("cut", "c3").body == loser.data
    alice.fresh(first).retract("cut", "there-c3")
    gone(sent_later, *cluster.nodes)
    gone(loser, *cluster.nodes)
    converge(cluster)


@check
def two_uploads_of_one_id_on_two_sides_of_a_cut_are_not_mixed(cluster):
    """Whichever upload counts, each node has one of the two files, and all of it."""
    alice, bob = chat(cluster, "mixed", "alice", "bob")
    converge(cluster)
    first, _, third = cluster.nodes
    pairs = {
        "longer": (content(50_000, 1), content(100_000, 2)),
        "shorter": (content(100_000, 3), content(50_000, 4)),
        "type": (content(50_000, 5), b"GIF89a" + content(49_994, 6)),
    }
    with cut_off(cluster, third):
        for file, (here, there) in pairs.items():
            alice.fresh(first).upload("mixed", file, here)
            time.sleep(0.02)
            alice.fresh(third).upload("mixed", file, there)
    wrong = []
    for file, (here, there) in pairs.items():
        for node in cluster.nodes:
            reader = bob.fresh(node)
            reader.connection.timeout = 1
            try:
                reply = reader.download("mixed", file, status=(200, 404))
            except (http.client.IncompleteRead, TimeoutError) as error:
                wrong.append((file, node.name, f"is never whole: {error!r}"))
                continue
            if reply.status == 200 and reply.body not in (here, there):
                wrong.append((file, node.name, f"{len(reply.body)} bytes of neither"))
            elif reply.status == 200 and reply.headers["Content-Type"] != (
                    "image/gif" if reply.body.startswith(b"GIF") else "image/png"):
                wrong.append((file, node.name, "the type of the other"))
    assert not wrong, wrong


@check
def a_message_that_was_sent_with_two_files_closes_both(cluster):
    """Its id is sent on both sides of a cut, as after a lost answer, with another file on each."""
    alice, bob = chat(cluster, "two", "alice", "bob")
    first, second, third = cluster.nodes
    here, there, late = Marked(cluster), Marked(cluster), Marked(cluster)
    converge(cluster)
    with cut_off(cluster, third):
        for number in range(2):
            alice.share("two", f"fa{number}", here.data, id=f"m{number}")
            alice.fresh(third).share("two", f"fb{number}", there.data, id=f"m{number}")
        # Of this one the deletion is asked before the other side is known.
        alice.share("two", "fa2", here.data, id="m2")
        alice.retract("two", "m2")
        time.sleep(0.05)
        alice.fresh(third).share("two", "fb2", late.data, id="m2")
    converge(cluster)
    for node in cluster.nodes:
        assert bob.fresh(node).download("two", "fa0").body == here.data
        assert bob.fresh(node).download("two", "fb0").body == there.data
        bob.fresh(node).download("two", "fb2", status=404)
    for message, node in (("m0", second), ("m1", third)):
        alice.fresh(node).retract("two", message)
    converge(cluster)
    for node in cluster.nodes:
        for file in ("fa0", "fb0", "fa1", "fb1", "fa2", "fb2"):
            bob.fresh(node).download("two", file, status=404)
    for marked in (here, there, late):
        gone(marked, *cluster.nodes)


@check
def a_file_that_two_messages_name_goes_with_the_last_of_them(cluster):
    alice, bob = chat(cluster, "last", "alice", "bob")
    first, _, third = cluster.nodes
    files = {f"f{number}": Marked(cluster) for number in range(3)}
    for file, marked in files.items():
        alice.upload("last", file, marked.data)
    converge(cluster)
    with cut_off(cluster, third):
        away = alice.fresh(third)
        for file in files:
            alice.send("last", file, id=f"here-{file}")
            away.send("last", file, id=f"there-{file}")
        # On one side, on the other, and on neither: on this side its parts are purged at once.
        alice.retract("last", "here-f0")
        away.retract("last", "there-f1")
        until(lambda: not files["f0"].files(first), "its parts have left the disk here", 10)
    converge(cluster)
    for file, marked in files.items():
        for node in cluster.nodes:
            until(lambda: bob.fresh(node).download("last", file, status=(200, 404)).status == 200,
                  f"{file}, which a message names, is read at {node.name}", 5)
            assert bob.fresh(node).download("last", file).body == marked.data, (file, node.name)
    for message in ("there-f0", "here-f1", "here-f2"):
        alice.fresh(first).retract("last", message)
    converge(cluster)
    for node in cluster.nodes:
        assert bob.fresh(node).download("last", "f2").body == files["f2"].data
    alice.fresh(third).retract("last", "there-f2")
    for marked in files.values():
        gone(marked, *cluster.nodes)


@check
def nobody_takes_or_deletes_the_file_of_another(cluster):
    """By an upload under the id that an event names, on the other side of a cut."""
    alice, mallory = chat(cluster, "theft", "alice", "mallory")
    third = cluster.nodes[2]
    converge(cluster)
    mine, theirs = content(60_000, 1), content(60_000, 2)
    with cut_off(cluster, third):
        away = mallory.fresh(third)
        for file in ("kept", "unsent", "deleted", "same"):
            alice.share("theft", file, mine, id=f"a-{file}")
            away.upload("theft", file, mine if file == "same" else theirs)
            if file != "unsent":
                away.send("theft", file, id=f"m-{file}")
            if file in ("deleted", "same"):
                away.retract("theft", f"m-{file}")
    converge(cluster)
    for node in cluster.nodes:
        for file in ("kept", "unsent", "deleted", "same"):
            got = mallory.fresh(node).download("theft", file)
            assert got.body == mine, (file, node.name)
    mallory.fresh(third).retract("theft", "m-kept")
    converge(cluster)
    time.sleep(2)
    for node in cluster.nodes:
        for file in ("kept", "unsent", "deleted", "same"):
            assert alice.fresh(node).download("theft", file).body == mine, (file, node.name)


@check
def a_tag_stands_for_the_bytes(cluster):
    """A download that was begun with one of two files under an id is not ended with the other."""
    alice, bob = chat(cluster, "tagged", "alice", "bob")
    first, _, third = cluster.nodes
    converge(cluster)
    with cut_off(cluster, third):
        alice.fresh(third).upload("tagged", "photo", content(100_000, 1))
        time.sleep(0.02)
        alice.fresh(first).upload("tagged", "photo", content(100_000, 2))
        tags = [bob.fresh(node).download("tagged", "photo").headers["ETag"]
                for node in (first, third)]
    converge(cluster)
    for node in cluster.nodes:
        whole = bob.fresh(node).download("tagged", "photo")
        assert whole.headers["ETag"] == tags[1] != tags[0], (whole.headers["ETag"], tags)
        for tag, status in ((tags[0], 200), (tags[1], 206)):
            fields = {"Range": "bytes=50000-", "If-Range": tag}
            got = bob.fresh(node).download("tagged", "photo", headers=fields, status=status)
            assert got.body == whole.body[-len(got.body):]
        for tag, status in ((tags[0], 200), (tags[1], 304)):
            fields = {"If-None-Match": tag}
            bob.fresh(node).download("tagged", "photo", headers=fields, status=status)
    alice.fresh(first).upload("tagged", "same", content(100_000, 1))
    assert bob.fresh(first).download("tagged", "same").headers["ETag"] == tags[1]


@check
def a_token_carries_an_upload_to_other_nodes(cluster):
    """At a node that cannot know of it: 503, and not that there is none."""
    alice, bob = chat(cluster, "carried", "alice", "bob")
    first, _, third = cluster.nodes
    data = content(50_000)
    converge(cluster)
    with cut_off(cluster, third):
        away = alice.fresh(third)
        assert away.upload("carried", "c1", data).token, "the answer to an upload has no token"
        away.at(first).download("carried", "c1", status=503)
        away.at(first).upload("carried", "c2", data, status=503)
        reader = bob.fresh(third)
        reader.download("carried", "c1")
        reader.at(first).download("carried", "c1", status=503)
    converge(cluster)
    assert away.at(first).download("carried", "c1").body == data


@check
def no_answer_stands_in_a_file_that_lacks_bytes(cluster):
    """A download that is shorter than its head said ends with its connection: otherwise the next
    answer, perhaps to another user of the same proxy, would be read as the file's rest."""
    alice, bob = chat(cluster, "lacking", "alice", "bob")
    node = cluster.nodes[0]
    short, whole = (base64.urlsafe_b64encode(bytes(size)).decode().rstrip("=")
                    for size in (5, PART_BYTES))
    wrong = []
    for file, parts, size in (("l1", [short, whole], 2 * PART_BYTES), ("l2", [short], 100),
                              ("l3", [whole], 40_000), ("l4", [], 10)):
        # With lines of their own, users may say a size that the parts do not have.
        puts = [f"FILE PUT lacking {file} alice {at} {part}" for at, part in enumerate(parts)]
        said = node.ask(
            f"AUTH {alice.bearer}", f"FILE ADD lacking alice id={file} type=image/png", *puts,
            f"FILE END lacking {file} alice size={size}")
        if set(said) != {"OK"}:
            continue
        with connection(node) as line:
            line.settimeout(1)
            line.sendall(head(bob, "GET", f"conversations/lacking/blobs/{file}")
                         + head(bob, "GET", "chats/lacking"))
            text, ends = b"", "ends"
            try:
                while more := line.recv(MIB):
                    text += more
            except TimeoutError:
                ends = "stays open"
            except ConnectionResetError:
                pass
        answers = text.count(b"HTTP/1.1 ")
        if answers > 1 or ends != "ends":
            wrong.append(f"{file}: {answers} answers in {len(text)} bytes, and it {ends}")
    assert not wrong, wrong


# MARK: Cost


@check
def a_client_that_reads_slowly_costs_little(cluster):
    """A node fetches of a file what the client takes."""
    alice, bob = chat(cluster, "patient", "alice", "bob")
    data = content(FILE_BYTES_MAX)
    alice.upload("patient", "f1", data)
    node = cluster.nodes[1]
    time.sleep(1)
    before = rss(node)
    readers = 10
    with contextlib.ExitStack() as stack:
        lines = []
        for _ in range(readers):
            line = stack.enter_context(socket.socket())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * KIB)
            line.settimeout(10)
            line.connect(("127.0.0.1", node.http))
            line.sendall(head(bob, "GET", "conversations/patient/blobs/f1", "Connection: close"))
            lines.append(line)
        received = [bytearray() for _ in lines]
        peak = 0
        for _ in range(20):
            time.sleep(0.1)
            for line, got in zip(lines, received):
                got += line.recv(1_000)
            peak = max(peak, rss(node))
        grown = (peak - before) / MIB
        assert grown < 2 * readers, f"{readers} slow downloads take {grown:.0f} MiB"
        print(f"       {readers} slow downloads take {grown:.1f} MiB")
        # They go on where they are.
        for line, got in list(zip(lines, received))[:2]:
            while more := line.recv(MIB):
                got += more
            assert got.endswith(data) and len(got) < len(data) + 2_000


@check
def uploads_do_not_hold_others_up(cluster):
    """Ten uploads of 25 MiB at once: what a node answers meanwhile, and what it takes of memory."""
    *porters, bob = chat(cluster, "busy", "porter0", "porter1", "porter2", "bob")
    node = cluster.nodes[0]
    path = os.path.join(cluster.folder, "large")
    data = content(FILE_BYTES_MAX, 10)
    with open(path, "wb") as file:
        file.write(data)
    idle, peaks, waits = {each.name: rss(each) for each in cluster.nodes}, {}, []

    def watch():
        while not done.is_set():
            for each in cluster.nodes:
                peaks[each.name] = max(peaks.get(each.name, 0), rss(each))
            done.wait(0.1)

    done = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    url = f"http://127.0.0.1:{node.http}/v1/conversations/busy/blobs/"
    began = time.monotonic()
    uploads = [
        subprocess.Popen(
            ["curl", "-sS", "-H", f"Authorization: Bearer {porters[number % 3].bearer}",
             "-T", path, url + f"u{number}"], stdout=subprocess.PIPE)
        for number in range(10)
    ]
    small = bob.at(node)
    number = 0
    while any(upload.poll() is None for upload in uploads):
        number += 1
        start = time.monotonic()
        small.get("chats/busy")
        waits.append(time.monotonic() - start)
        start = time.monotonic()
        small.post("conversations/busy/messages", {"id": f"m{number}", "text": "meanwhile"})
        waits.append(time.monotonic() - start)
        time.sleep(0.02)
    took = time.monotonic() - began
    done.set()
    watcher.join()
    for number, upload in enumerate(uploads):
        answer = json.loads(upload.stdout.read())
        assert answer == {"id": f"u{number}", "type": "image/png", "size": len(data)}, answer
    grown = {name: (peaks[name] - idle[name]) / MIB for name in peaks}
    figures = (
        f"ten uploads took {took:.1f} s; {len(waits)} requests meanwhile: median "
        f"{statistics.median(waits) * 1000:.0f} ms, longest {max(waits) * 1000:.0f} ms; memory: "
        + ", ".join(f"{name} +{each:.0f} MiB" for name, each in grown.items()))
    print("       " + figures)
    os.remove(path)
    for number in (0, 9):
        assert bob.at(cluster.nodes[2]).download("busy", f"u{number}").body == data
    # Beside the uploads, which take as long as the machine is slow.
    assert statistics.median(waits) < max(0.25, took / 40), figures
    assert max(waits) < max(1, took / 10), figures
    assert max(grown.values()) < 150, figures


@check
def uploads_that_begin_together_are_checked_again_as_they_arrive(cluster):
    """Twelve uploads of 25 MiB, four at each of three nodes, begin before any of them counts."""
    grabber, _ = chat(cluster, "together", "grabber", "other")
    path = os.path.join(cluster.folder, "together")
    with open(path, "wb") as file:
        file.write(content(FILE_BYTES_MAX, 11))
    places = [(node, f"t{node.name}{number}") for number in range(4) for node in cluster.nodes]
    names = [name for _, name in places]
    uploads = [
        subprocess.Popen(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-T", path,
             "-H", f"Authorization: Bearer {grabber.bearer}",
             f"http://127.0.0.1:{node.http}/v1/conversations/together/blobs/{name}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for node, name in places
    ]
    statuses = [upload.communicate()[0] for upload in uploads]
    assert set(statuses) <= {"200", "429"} and "429" in statuses, statuses
    stored = [name for name, status in zip(names, statuses) if status == "200"]
    assert len(stored) <= 5, statuses
    print(f"       of twelve uploads of 25 MiB that began together {len(stored)} were stored")
    for node in cluster.nodes:
        refusal = grabber.at(node).upload("together", "more", b"x", status=429)
        assert "100 MiB that are not sent" in refusal.json["error"]["message"], refusal.body


def revive(cluster):
    """Starts the nodes again that have died, and raises how that was, and where."""
    said = []
    for node in cluster.nodes:
        with contextlib.suppress(OSError):
            if node.ask("PING") == ["OK pong"]:
                continue
        said.append(f"{node.name} has died, status {node.process.wait(timeout=10)}:")
        with open(node.log.name, errors="replace") as log:
            crash = log.read().rpartition("*** Program crashed")[2].splitlines()
        said += [line for line in crash if "/Sources/" in line or "Fatal error" in line][:4]
        node.start(*cluster.nodes)
        until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready again")
    assert not said, "\n".join(said)


@check
def a_user_uploads_so_much_a_day_and_others_are_not_concerned(cluster):
    """On a node of its own, where that is 1 MiB."""
    with Cluster(cluster.binary, 1, ["--upload-day", "1"]) as strict:
        alice, bob = FileApp(strict.nodes[0], "alice"), FileApp(strict.nodes[0], "bob")
        alice.post("conversations", {"id": "day", "participants": ["bob"]})
        data = os.urandom(600_000)
        alice.upload("day", "d1", data)
        for chunk in (None, 10_000):
            refused = alice.upload("day", "d2", data, chunk, status=429)
            # Of chunks it is not known how many will come.
            assert int(refused.headers["Retry-After"]) > (0 if chunk else 600), refused.headers
            alice = FileApp(strict.nodes[0], "alice")
        bob.upload("day", "d3", data)
        assert alice.download("day", "d1").body == data
        # What could be read of the refused one is not there.
        bob.download("day", "d2", status=404)


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    with Cluster(binary, 3) as cluster:
        failed = SUITE.run(cluster, after=lambda: revive(cluster), names=names)
        # Whatever was asked, all nodes store the same.
        converge(cluster)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
