#!/usr/bin/env python3
"""Checks what apps see of a cluster of three real nodes, over HTTP, WebSockets and event streams.

usage: checks.py BINARY [NAME…]    all checks, or those whose names contain one of these words
"""

import asyncio
import base64
import gzip
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import websockets

from cluster import App, Cluster, converge, cut_off, token, until
from suite import Suite

SUITE = Suite()
check = SUITE.check


def chat(cluster, name, *users):
    """Creates a conversation, and returns a client on the first node for each user."""
    apps = [App(cluster.nodes[0], user) for user in users]
    apps[0].post("conversations", {"id": name, "participants": list(users[1:])})
    return apps


def send(app, conversation, text, **more):
    path = f"conversations/{conversation}/messages"
    return app.post(path, {"text": text} | more).json


def texts(app, conversation):
    messages = app.get(f"conversations/{conversation}/messages").json["messages"]
    return [message["text"] for message in messages]


# MARK: Identity


@check
def nothing_without_a_valid_token(cluster):
    """R-30: without a valid token 401 and no data, on each path of the description."""
    alice, = chat(cluster, "secret", "alice")
    send(alice, "secret", "nobody else reads this")
    description = alice.get("openapi.json").json
    wrong = [
        None, "x", token("alice") + "x", token("alice", exp=int(time.time()) - 1),
        token("alice", nbf=int(time.time()) + 60), token(""),
        # It was issued for another service, or for longer than is allowed.
        token("alice", aud="billing.example"), token("alice", exp=int(time.time()) + 25 * 3600),
    ]
    for bearer in wrong:
        nobody = App(cluster.nodes[0], "alice")
        nobody.bearer = bearer
        for path, methods in description["paths"].items():
            path = path.removeprefix("/v1/").replace("{conversation}", "secret")
            for name in ("message", "item", "device", "id", "user", "file"):
                path = path.replace("{%s}" % name, "x1")
            for method in methods.keys() - {"parameters"}:
                answer = nobody.request(method.upper(), path, status=401)
                assert b"nobody else" not in answer.text
                assert answer.headers["WWW-Authenticate"] == "Bearer"


@check
def users_of_an_identity_provider_have_names(cluster):
    """A subject that is no name stands for a user all the same, and each for another."""
    alice, = chat(cluster, "provided", "alice")
    ann, ben = (App(cluster.nodes[0], f"auth0|{number}") for number in (1, 2))
    ann.post("conversations", {"id": "annsown", "title": "Ann's"})
    chat_of_ann = ann.get("chats/annsown").json
    name, = chat_of_ann["participants"]
    assert name == "sub:YXV0aDB8MQ", name
    ben.get("chats/annsown", status=403)
    alice.put(f"conversations/provided/participants/{name}")
    assert send(ann, "provided", "hello")["id"]


@check
def participants_alone_may_read_and_write(cluster):
    """R-25, R-27: 403 for each request of one who is not a participant."""
    alice, bob, carol = chat(cluster, "two", "alice", "bob"), None, None
    alice, bob = alice
    message = send(alice, "two", "between us")["id"]
    carol = App(cluster.nodes[0], "carol")
    requests = [
        ("GET", "messages", None), ("POST", "messages", {"text": "x"}),
        ("PATCH", f"messages/{message}", {"text": "x"}), ("DELETE", f"messages/{message}", None),
        ("GET", f"messages/{message}/edits", None), ("POST", f"messages/{message}/restore", None),
        ("PUT", f"pins/{message}", None), ("DELETE", f"pins/{message}", None),
        ("GET", "pins", None), ("GET", "marks", None), ("PUT", "marks/read", {}),
        ("PUT", "marks/delivered", {}), ("POST", "leave", None), ("PUT", "participants/dave", None),
    ]
    for method, path, body in requests:
        answer = carol.request(method, f"conversations/two/{path}", body, status=403)
        assert answer.error == "Only participants can do this"
    for method, path in [("GET", ""), ("DELETE", ""), ("PUT", "/archive"), ("DELETE", "/archive")]:
        carol.request(method, "chats/two" + path, status=403)
    assert texts(bob, "two") == ["between us"]
    alice.put("conversations/two/participants/carol")
    assert texts(carol, "two") == ["between us"]
    carol.post("conversations/two/leave")
    carol.get("conversations/two/messages", status=403)


@check
def what_belongs_to_a_user_is_his_alone(cluster):
    """Items, devices, chats and profile belong to their user."""
    erin, fred = App(cluster.nodes[0], "erin"), App(cluster.nodes[0], "fred")
    item = erin.post("items", {"title": "mine", "priority": "high"}).json["id"]
    erin.put("devices/phone", {"token": "t1"})
    erin.patch("profile", {"name": "Erin", "email": "erin@example.org"})
    assert fred.get("items").json["items"] == [] and fred.get("devices").json["devices"] == []
    assert fred.get("chats").json["chats"] == []
    fred.get("profile", status=404)
    fred.patch(f"items/{item}", {"title": "his"}, status=403)
    fred.delete(f"items/{item}", status=403)
    assert erin.get("items").json["items"] == [{"id": item, "title": "mine", "priority": "high"}]
    assert erin.get("profile").json["email"] == "erin@example.org"
    # Everybody may read what others tell of themselves, on any node, and nobody may change it.
    shown = App(cluster.nodes[1], "fred").get("profiles?users=fred,erin,nobody").json
    assert [each["user"] for each in shown["profiles"]] == ["erin"], shown
    assert shown["profiles"][0]["name"] == "Erin"
    fred.get("profiles?users=", status=400)
    fred.get("profiles", status=400)
    fred.patch("profiles?users=erin", {"name": "Eric"}, status=405)
    # No request lists users, and nobody can name another as himself.
    fred.post("items", {"title": "x", "user": "erin"}, status=400)
    fred.get("profile?user=erin", status=400)
    fred.get("users", status=404)


# MARK: Messages


@check
def the_same_id_is_the_same_message(cluster):
    alice, bob = chat(cluster, "again", "alice", "bob")
    first = send(alice, "again", "once", id="m1")
    assert send(alice, "again", "once", id="m1")["at"] == first["at"]
    alice.post("conversations/again/messages", {"id": "m1", "text": "other"}, status=409)
    assert texts(bob, "again") == ["once"]


@check
def messages_live_as_on_the_line_protocol(cluster):
    alice, bob = chat(cluster, "life", "alice", "bob")
    first, second = (send(alice, "life", text)["id"] for text in ("one", "two\n\"2\" \\ é"))
    unread = bob.get("unread").json
    assert {"conversation": "life", "count": 2} in unread["unread"]
    assert unread["total"] == sum(each["count"] for each in unread["unread"])
    marked = bob.put("conversations/life/marks/read", {"message": first}).json
    assert marked["unread"] == 1 and marked["at"] > "2026"
    alice.patch(f"conversations/life/messages/{first}", {"text": "eins"})
    answer = bob.patch(f"conversations/life/messages/{first}", {"text": "x"}, status=403)
    assert answer.error == "You can only edit your own messages within 15 minutes"
    edits = bob.get(f"conversations/life/messages/{first}/edits").json["edits"]
    assert [edit["text"] for edit in edits] == ["one", "eins"]
    bob.put(f"conversations/life/pins/{second}")
    assert bob.get("conversations/life/pins").json["messages"][0]["pinnedBy"] == "bob"
    bob.delete(f"conversations/life/messages/{first}")
    assert texts(bob, "life") == ["two\n\"2\" \\ é"] and len(texts(alice, "life")) == 2
    bob.post(f"conversations/life/messages/{first}/restore")
    assert texts(bob, "life")[0] == "eins"
    answer = bob.delete(f"conversations/life/messages/{first}?for=everyone", status=403)
    assert answer.error == "Only the sender can delete for everyone"
    alice.delete(f"conversations/life/messages/{first}?for=everyone")
    assert texts(bob, "life")[0] == "[Message deleted]"
    assert bob.get("chats/life").json["participants"] == ["alice", "bob"]
    answer = alice.post("conversations/life/messages", {"text": " \n"}, status=400)
    assert answer.error == "Message cannot be empty"
    alice.post("conversations/life/messages", {"text": "x" * 16_385}, status=413)
    answer = alice.post("conversations/none/messages", {"text": "x"}, status=404)
    assert answer.error == "Conversation not found"


@check
def pages_follow_each_other(cluster):
    alice, = chat(cluster, "pages", "alice")
    ids = [send(alice, "pages", str(number))["id"] for number in range(7)]
    page = alice.get("conversations/pages/messages?limit=3").json["messages"]
    assert [message["id"] for message in page] == ids[4:]
    page = alice.get(f"conversations/pages/messages?limit=3&before={ids[4]}").json["messages"]
    assert [message["id"] for message in page] == ids[1:4]
    alice.get("conversations/pages/messages?limit=0", status=400)
    alice.get("conversations/pages/messages?limit=1&limit=2", status=400)
    # 70 texts of 16 KiB, of which some are escaped, are more than a page.
    texts = ["x" * 16_000 if number % 2 else '"' * 16_000 for number in range(70)]
    large = [send(alice, "pages", text)["id"] for text in texts]
    seen, path = [], "conversations/pages/messages?limit=1000"
    answer = alice.get(path).json
    assert 1 < len(answer["messages"]) < 70, len(answer["messages"])
    while answer:
        seen = [message["id"] for message in answer["messages"]] + seen
        if "next" not in answer:
            break
        answer = alice.get(f"{path}&before={answer['next']}").json
    assert seen == ids + large
    seen, answer = [], alice.get(f"{path}&after={ids[0]}").json
    while True:
        seen += [message["id"] for message in answer["messages"]]
        if "next" not in answer:
            break
        answer = alice.get(f"{path}&after={answer['next']}").json
    assert seen == ids[1:] + large


@check
def a_token_carries_a_session_to_another_node(cluster):
    """A client sees its own writes on whichever node it asks next."""
    alice, = chat(cluster, "travel", "alice")
    others = [App(node, "alice") for node in cluster.nodes]
    session = alice.session
    for number in range(60):
        app = others[number % 3]
        app.session = session
        send(app, "travel", str(number))
        reader = others[(number + 1) % 3]
        reader.session = app.session
        assert texts(reader, "travel")[-1] == str(number)
        session = reader.session
    alice.get("chats", headers={"Grapevine-Token": "no token"}, status=400)
    alice.get("chats", headers={"Grapevine-Token": "bm8"}, status=400)


@check
def several_tokens_stand_for_what_each_of_them_does(cluster):
    """An answer to a request with two tokens has the changes of both, and so has its token."""
    alice, = chat(cluster, "sides", "alice")
    first, second, third = cluster.nodes
    converge(cluster)
    with cut_off(cluster, third):
        near, far = App(first, "alice"), App(third, "alice")
        send(near, "sides", "near")
        send(far, "sides", "far")
        reader = App(second, "alice")
        path = "conversations/sides/messages"
        reader.get(path, headers={"Grapevine-Token": near.session})
        for tokens in [f"{near.session}, {far.session}", f"{far.session},{near.session}"]:
            reader.get(path, headers={"Grapevine-Token": tokens}, status=503)
    reader = App(second, "alice")
    answer = reader.get(path, headers={"Grapevine-Token": f"{near.session}, {far.session}"})
    assert {each["text"] for each in answer.json["messages"]} == {"near", "far"}
    for node in cluster.nodes:
        other = App(node, "alice")
        other.session = answer.token
        assert set(texts(other, "sides")) == {"near", "far"}
    for bad in [f"{answer.token} bm8", f"{answer.token}, bm8", ",".join([answer.token] * 7)]:
        alice.get("chats", headers={"Grapevine-Token": bad}, status=400)
    alice.get("chats", headers={"Grapevine-Token": ", ".join([answer.token] * 6)})


@check
def a_user_of_the_line_protocol_is_nobody_else(cluster):
    """With --users, AUTH takes the same access token as HTTP does."""
    alice, = chat(cluster, "lines", "alice")
    node = cluster.nodes[1]
    sign_in = f"AUTH {token('alice')}"
    replies = node.ask(
        sign_in, "SEND lines alice id=l1 by line", "SEND lines bob x", "STATUS", "SEED",
        f"AUTH {token('bob')}", "CHATS bob", "PING")
    assert replies[0] == "OK" and replies[1].startswith("OK id=l1 "), replies
    assert [reply[:8] for reply in replies[2:7]] == ["ERR 403 "] * 5, replies
    assert replies[7] == "OK pong"
    assert node.ask(f"AUTH {token('alice', exp=1)}") == ["ERR 401 Wrong secret"]
    alice.get("conversations/lines/messages")
    assert texts(alice, "lines") == ["by line"]


# MARK: HTTP


def raw(node, request, pieces=1):
    """Sends bytes as they are; returns all that comes until the node closes."""
    with socket.create_connection(("127.0.0.1", node.http), timeout=10) as line:
        step = -(-len(request) // pieces)
        for start in range(0, len(request), step):
            line.sendall(request[start:start + step])
            if pieces > 1:
                time.sleep(0.001)
        line.shutdown(socket.SHUT_WR)
        return line.makefile("rb").read()


def first_bytes(node, request):
    """Sends bytes as they are; returns what comes first."""
    with socket.create_connection(("127.0.0.1", node.http), timeout=10) as line:
        line.sendall(request)
        return line.recv(4096)


def head(app, method, path, *more):
    fields = [f"{method} /v1/{path} HTTP/1.1", "Host: a", f"Authorization: Bearer {app.bearer}"]
    return "\r\n".join([*fields, *more, "", ""]).encode()


@check
def requests_in_any_form_are_answered_in_their_order(cluster):
    alice, = chat(cluster, "forms", "alice")
    path = "conversations/forms/messages"
    whole = b""
    for number in range(20):
        body = json.dumps({"text": f"t{number}"}).encode()
        if number % 2:
            whole += head(alice, "POST", path, f"Content-Length: {len(body)}") + body
        else:
            whole += head(alice, "POST", path, "Transfer-Encoding: chunked")
            for byte in body:
                whole += b"1\r\n" + bytes([byte]) + b"\r\n"
            whole += b"0\r\n\r\n"
    whole += head(alice, "GET", path + "?limit=1") + head(alice, "HEAD", path)
    for pieces in (1, 300):
        text = raw(cluster.nodes[0], whole, pieces)
        assert text.count(b"HTTP/1.1 200 OK\r\n") == 22, text
        assert text.count(b'"text":"t19"') == 1 and text.endswith(b"\r\n\r\n")
    assert texts(alice, "forms")[:20] == [f"t{number}" for number in range(20)]


@check
def a_body_that_is_refused_is_not_read(cluster):
    node = cluster.nodes[0]
    alice, = chat(cluster, "refused", "alice")
    path = "conversations/refused/messages"
    large = raw(node, head(alice, "POST", path, "Content-Length: 999999999"))
    assert large.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in large
    chunks = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    large = raw(node, head(alice, "POST", path, "Transfer-Encoding: chunked") + chunks * 3)
    assert large.startswith(b"HTTP/1.1 413 ")
    body = b'{"text":"continued"}'
    expected = head(alice, "POST", path, "Expect: 100-continue", f"Content-Length: {len(body)}")
    assert raw(node, expected + body).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
    alice.bearer = "wrong"
    refused = raw(node, head(alice, "POST", path, "Expect: 100-continue", "Content-Length: 20"))
    assert refused.startswith(b"HTTP/1.1 401 ") and b"100 Continue" not in refused


@check
def what_two_readers_could_read_in_two_ways_is_refused(cluster):
    node = cluster.nodes[0]
    alice, = chat(cluster, "smuggled", "alice")
    inner = head(alice, "POST", "conversations/smuggled/messages", "Content-Length: 12")
    inner += b'{"text":"x"}'
    path = "chats"
    for fields in [
        (f"Content-Length: {len(inner)}", "Transfer-Encoding: chunked"),
        ("Content-Length: 0", f"Content-Length: {len(inner)}"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ("Transfer-Encoding : chunked",), ("Transfer-Encoding: xchunked",),
        ("Content-Length: +0",), ("Content-Length: 0x0",), (" folded: 1",), ("Host: b",),
    ]:
        text = raw(node, head(alice, "GET", path, *fields) + b"0\r\n\r\n" + inner)
        assert text.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), (fields, text)
        assert text.count(b"HTTP/1.1 ") == 1, (fields, text)
    assert texts(alice, "smuggled") == []


@check
def pages_of_other_sites_are_refused(cluster):
    alice, = chat(cluster, "sites", "alice")
    for origin in ("https://evil.example", "null", "http://chat.example.org"):
        alice.get("chats", headers={"Origin": origin}, status=403)
        alice.post("conversations", {"id": "evil"}, headers={"Origin": origin}, status=403)
    alice.get("chats/evil", status=404)
    ours = {"Origin": "https://chat.example.org"}
    answer = alice.get("chats", headers=ours)
    assert answer.headers["Access-Control-Allow-Origin"] == ours["Origin"]
    answer = alice.request("OPTIONS", "conversations/sites/messages", headers=ours, status=204)
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Origin" not in alice.get("chats").headers
    same = {"Origin": f"http://127.0.0.1:{cluster.nodes[0].http}"}
    alice.get("chats", headers=same)
    for answer in (alice.get("chats"), alice.get("nowhere", status=404)):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Server" not in answer.headers


@check
def a_page_can_read_every_answer(cluster):
    """Without the origin, a browser shows its page a failed request instead of the reason."""
    alice, _ = chat(cluster, "readable", "alice", "bob")
    mallory = App(cluster.nodes[0], "mallory")
    ours = {"Origin": "https://chat.example.org"}
    path = "conversations/readable"
    for user, line, fields, code in (
            (alice, f"PUT {path}/blobs/f1", ("Content-Length: 26214401",), 413),
            (alice, f"POST {path}/messages", ("Content-Length: 131073",), 413),
            (mallory, f"PUT {path}/blobs/f1", ("Content-Length: 1",), 403),
            (alice, f"DELETE {path}/blobs/f1", (), 405),
            (alice, "GET nowhere", (), 404),
            (alice, f"GET {path}/blobs/none", (), 404),
            (alice, "GET chats", (), 200),
            (alice, f"PUT {path}/blobs/f2", ("Content-Length: 1",), 200),
            (alice, f"GET {path}/blobs/f2", (), 200),
            (alice, f"GET {path}/messages?limit=x", (), 400)):
        method, target = line.split()
        sent = head(
            user, method, target, *fields, f"Origin: {ours['Origin']}", "X-Request-Id: r-1") + b"x"
        text = raw(cluster.nodes[0], sent)
        assert text.startswith(f"HTTP/1.1 {code} ".encode()), (line, text)
        assert f"Access-Control-Allow-Origin: {ours['Origin']}\r\n".encode() in text, (line, text)
        assert b"X-Request-Id: r-1\r\n" in text, (line, text)
    stream = first_bytes(
        cluster.nodes[0],
        head(alice, "GET", "events", f"Origin: {ours['Origin']}", "X-Request-Id: r-1"))
    assert f"Access-Control-Allow-Origin: {ours['Origin']}\r\n".encode() in stream, stream
    assert b"X-Request-Id: r-1\r\n" in stream, stream
    for other in ("r" * 65, "r 1", "r\u00fc"):
        text = raw(cluster.nodes[0], head(alice, "GET", "nowhere", f"X-Request-Id: {other}"))
        assert b"HTTP/1.1 404 " in text and b"X-Request-Id: r" not in text, text
    # What cannot be read names no origin.
    for sent, code in (
            (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n", 414),
            (b"GET /v1/chats HTTP/9.9\r\n\r\n", 505),
            (b"GET /v1/chats HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 431)):
        text = raw(cluster.nodes[0], sent)
        assert text.startswith(f"HTTP/1.1 {code} ".encode()), (code, text)
        assert b"Access-Control-Allow-Origin: *\r\n" in text, text


@check
def a_conversation_has_one_path(cluster):
    alice, = chat(cluster, "path", "alice")
    send(alice, "path", "hello")
    assert alice.get("conversations/path").json == alice.get("chats/path").json
    listed = alice.get("conversations").json["conversations"]
    assert listed == alice.get("chats").json["chats"] and listed[0]["id"] == "path"
    page = alice.get("conversations?limit=1").json
    assert len(page["conversations"]) == 1
    allowed = alice.request("PUT", "conversations/path", {}, status=405).headers["Allow"]
    assert allowed == "GET, DELETE, HEAD, OPTIONS", allowed


@check
def lists_come_in_pages(cluster):
    alice = App(cluster.nodes[0], "alice")
    people = [f"person{number}" for number in range(20)]
    for number in range(7):
        alice.post("conversations", {"id": f"pages{number}", "participants": people})
    whole = alice.get("chats").json["chats"]
    assert len(whole) >= 7
    for each in whole:
        if each["id"] == "pages6":
            assert (len(each["participants"]), each["participantCount"]) == (8, 21)
    assert len(alice.get("chats/pages6").json["participants"]) == 21
    found, next_page = [], ""
    while next_page is not None:
        body = alice.get(f"chats?limit=3{next_page}").json
        assert len(body["chats"]) <= 3
        found += body["chats"]
        next_page = "&from=" + body["next"] if "next" in body else None
    assert found == whole
    for wrong in ("limit=0", "limit=1001", "from=!"):
        alice.get(f"chats?{wrong}", status=400)


def page(node, path, headers=None, method="GET"):
    """Asks for a page without a sign-in; returns the response, and its body as `text`."""
    connection = http.client.HTTPConnection("127.0.0.1", node.http, timeout=10)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    answer.text = answer.read()
    connection.close()
    return answer


@check
def pages_are_served_to_anybody(cluster):
    """The chat's page needs no sign-in, and is sent once while it does not change."""
    node = cluster.nodes[0]
    chat = page(node, "/")
    assert chat.status == 200 and chat.text.startswith(b"<!"), chat.text
    policy = chat.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy, policy
    assert chat.headers["Cache-Control"] == "no-cache"
    assert chat.headers["Permissions-Policy"].startswith("microphone=(self)")
    again = page(node, "/", {"If-None-Match": chat.headers["ETag"]})
    assert again.status == 304 and again.text == b""
    head = page(node, "/", method="HEAD")
    assert head.headers["Content-Length"] == str(len(chat.text)) and head.text == b""
    post = page(node, "/", method="POST")
    assert post.status == 405 and post.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert page(node, "/", {"Origin": "https://evil.example"}).status == 403
    assert json.loads(page(node, "/nodes.json").text) == {"nodes": []}
    for path in ("/chat", "/chat/../chat/", "/client/", "/cluster", "/files.c", "/%2e%2e/", "//"):
        assert page(node, path).status in (400, 401), path


@check
def methods_and_paths_are_told_apart(cluster):
    alice = App(cluster.nodes[0], "alice")
    assert alice.request("PUT", "chats", status=405).headers["Allow"] == "GET, HEAD, OPTIONS"
    alice.request("BREW", "chats", status=405)
    assert alice.request("HEAD", "events", status=405).headers["Allow"] == "GET, DELETE, OPTIONS"
    alice.get("nope", status=404)
    alice.get("conversations/a%20b/messages", status=400)
    alice.get("../etc/passwd", status=400)
    answer = alice.put("conversations/c/typing", {"on": True}, status=400)
    assert "WebSocket" in answer.error
    assert alice.get("socket", status=426).headers["Upgrade"] == "websocket"
    alice.request("HEAD", "events", status=405)


# MARK: Sockets


def connect(node, user, query=""):
    return websockets.connect(
        f"ws://127.0.0.1:{node.http}/v1/socket{query}", max_size=None, close_timeout=1,
        additional_headers={"Authorization": "Bearer " + token(user)})


async def ask(line, method, path, body=None, id=1):
    await line.send(json.dumps(
        {"id": id, "method": method, "path": "/v1/" + path} | ({"body": body} if body else {})))
    events = []
    while True:
        message = json.loads(await asyncio.wait_for(line.recv(), 10))
        if "event" in message:
            events.append(message["event"])
        else:
            assert message["id"] == id, message
            assert message.get("retryAfter") == (1 if message["status"] == 429 else None), message
            return message["status"], message["body"], events


async def ended_with_token(line):
    """Waits until the node closes a socket whose access token is not valid any more."""
    try:
        await asyncio.wait_for(line.recv(), 10)
        raise AssertionError("it stayed open")
    except websockets.ConnectionClosed as error:
        assert error.rcvd.code == 4401


async def next_event(line):
    while True:
        message = json.loads(await asyncio.wait_for(line.recv(), 10))
        if "event" in message:
            return message["event"]


@check
def a_socket_answers_and_tells_of_events(cluster):
    async def run():
        first, second = cluster.nodes[:2]
        async with connect(first, "alice") as alice, connect(second, "bob") as bob:
            status, body, _ = await ask(alice, "POST", "conversations",
                                        {"id": "live", "participants": ["bob"]}, "create")
            assert status == 200 and body["id"] == "live" and body["at"] > "2026"
            status, body, _ = await ask(bob, "GET", "events")
            assert status == 200 and body["token"]
            await ask(alice, "PUT", "conversations/live/typing", {"on": True})
            await ask(alice, "POST", "conversations/live/messages", {"id": "m1", "text": "hi"})
            kinds = []
            while "message" not in kinds:
                event = await next_event(bob)
                if event.get("conversation") == "live":
                    kinds.append(event["kind"])
            assert kinds[-2:] == ["typing", "message"] or "typing" in kinds
            assert event["text"] == "hi" and event["from"] == "alice" and event["token"]
            # Typing ends with the connection that set it.
            await ask(alice, "PUT", "conversations/live/typing", {"on": True})
        async with connect(second, "bob") as bob:
            for text in ("[]", "{}", "x", '{"id":1}', '{"id":[],"path":"/v1/chats"}',
                         '{"id":1,"path":"/v1/chats","user":"alice"}',
                         '{"id":1,"path":"/v1/chats","method":"PUT"}',
                         '{"id":1,"path":"chats"}', '{"id":1,"path":"/v1/chats","body":{"a":1}}'):
                await bob.send(text)
                message = json.loads(await bob.recv())
                assert message["status"] in (400, 404, 405), (text, message)
            # A socket that was sent nonsense still works.
            status, body, _ = await ask(bob, "GET", "conversations/live/messages")
            assert status == 200 and [each["id"] for each in body["messages"]] == ["m1"]
    asyncio.run(run())


@check
def many_requests_at_once_are_all_answered(cluster):
    async def run():
        async with connect(cluster.nodes[0], "alice") as line:
            await ask(line, "POST", "conversations", {"id": "many"})
            for number in range(3_000):
                await line.send(json.dumps({
                    "id": number, "method": "POST", "path": "/v1/conversations/many/messages",
                    "body": {"id": f"m{number}", "text": "x"}}))
            answered = [json.loads(await line.recv()) for _ in range(3_000)]
            assert sorted(each["id"] for each in answered) == list(range(3_000))
            assert all(each["status"] == 200 for each in answered)
    asyncio.run(run())


@check
def a_socket_of_nobody_is_refused(cluster):
    async def run():
        node = cluster.nodes[0]
        for headers in ({}, {"Authorization": "Bearer x"},
                        {"Authorization": "Bearer " + token("alice"), "Origin": "https://evil"}):
            try:
                async with websockets.connect(
                        f"ws://127.0.0.1:{node.http}/v1/socket", additional_headers=headers):
                    raise AssertionError("it was opened")
            except websockets.InvalidStatus as error:
                assert error.response.status_code in (401, 403)
        # Its user's time is over.
        short = token("alice", exp=int(time.time()) + 2)
        async with websockets.connect(
                f"ws://127.0.0.1:{node.http}/v1/socket", subprotocols=["grapevine.v1",
                                                                       "bearer." + short]) as line:
            assert line.subprotocol == "grapevine.v1"
            await ended_with_token(line)
        # A browser gives up where none of the protocols that it offers is chosen.
        alone = "bearer." + token("alice")
        async with websockets.connect(
                f"ws://127.0.0.1:{node.http}/v1/socket", subprotocols=[alone]) as line:
            assert line.subprotocol == alone
    asyncio.run(run())


@check
def events_go_on_elsewhere_when_a_node_dies(cluster):
    """Nothing is missing behind a token, whichever node tells of it."""
    async def run():
        first, second, third = cluster.nodes
        alice, _ = chat(cluster, "failover", "alice", "bob")
        seen, since = set(), ""
        async with connect(third, "bob") as line:
            status, body, _ = await ask(line, "GET", "events")
            since = body["token"]
            for number in range(30):
                send(alice, "failover", str(number), id=f"a{number}")
            while len(seen) < 20:
                event = await next_event(line)
                since = event["token"]
                if event["kind"] == "message" and event["conversation"] == "failover":
                    seen.add(event["id"])
            third.kill()
        for number in range(30, 40):
            send(alice, "failover", str(number), id=f"a{number}")
        async with connect(second, "bob") as line:
            status, _, events = await ask(line, "GET", f"events?since={since}")
            assert status == 200
            while len(seen) < 40:
                event = await next_event(line)
                if event["kind"] == "message" and event["conversation"] == "failover":
                    seen.add(event["id"])
        third.start(*cluster.nodes)
        until(lambda: third.ask("READY") == ["OK"], "n3 is ready again")
    asyncio.run(run())


@check
def a_stream_of_events_is_resumed(cluster):
    alice, bob = chat(cluster, "stream", "alice", "bob")
    send(alice, "stream", "before")

    # A proxy may not collect it.
    assert b"X-Accel-Buffering: no\r\n" in first_bytes(cluster.nodes[1], head(bob, "GET", "events"))

    def stream(last=None):
        more = [f"Last-Event-ID: {last}"] if last else []
        line = socket.create_connection(("127.0.0.1", cluster.nodes[1].http), timeout=10)
        line.sendall(head(bob, "GET", "events", *more))
        return line, line.makefile(encoding="utf-8")

    def events(lines):
        event = {}
        for each in lines:
            each = each.rstrip("\n")
            if not each and "data" in event:
                yield event
                event = {}
            elif ": " in each:
                key, value = each.split(": ", 1)
                event[key] = value

    # It ends with the access token.
    short = App(cluster.nodes[1], "bob")
    short.bearer = token("bob", exp=int(time.time()) + 2)
    with socket.create_connection(("127.0.0.1", cluster.nodes[1].http), timeout=10) as line:
        line.sendall(head(short, "GET", "events"))
        assert line.makefile("rb").read().startswith(b"HTTP/1.1 200 OK")

    line, lines = stream()
    told = events(lines)
    last = next(told)
    assert last["event"] == "watching"
    send(alice, "stream", "first")
    while last["event"] != "message" or json.loads(last["data"])["text"] != "first":
        last = next(told)
    line.close()
    send(alice, "stream", "second")
    line, lines = stream(last["id"])
    told = events(lines)
    new = [json.loads(event["data"]) for event in (next(told), next(told))]
    assert new[1]["text"] == "second", new
    line.close()


@check
def a_key_that_is_taken_out_signs_nobody_in(cluster):
    other = base64.urlsafe_b64encode(b"x" * 32).decode().rstrip("=")
    with Cluster(cluster.binary, 1) as rotated:
        node = rotated.nodes[0]
        alice, = chat(rotated, "rotated", "alice")

        async def run():
            async with connect(node, "alice") as line:
                assert (await ask(line, "GET", "chats"))[0] == 200
                with open(rotated.keys, "w") as file:
                    file.write('{"keys":[{"kty":"oct","k":"%s"}]}' % other)
                node.process.send_signal(signal.SIGHUP)
                await ended_with_token(line)
        asyncio.run(run())
        # On the connection that was signed in before, and on a new one.
        alice.get("chats", status=401)
        App(node, "alice").get("chats", status=401)
        assert node.ask(f"AUTH {token('alice')}") == ["ERR 401 Wrong secret"]


@check
def an_encrypted_port_shows_its_certificate(cluster):
    """R-30 beyond this machine: TLS 1.2 and 1.3, nothing in plain text, a certificate that is
    changed while clients are connected."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("cert.pem", "key.pem")]

        def make_certificate():
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                 "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
                check=True, stderr=subprocess.DEVNULL)
            os.chmod(files[1], 0o600)

        make_certificate()
        options = ["--tls-cert", files[0], "--tls-key", files[1]]
        with Cluster(cluster.binary, 1, options) as encrypted:
            node = encrypted.nodes[0]

            def app():
                alice = App(node, "alice")
                trust = ssl.create_default_context(cafile=files[0])
                alice.connection = http.client.HTTPSConnection(
                    "127.0.0.1", node.http, timeout=10, context=trust)
                return alice

            alice = app()
            answer = alice.post("conversations", {"id": "tls"})
            assert "max-age" in answer.headers["Strict-Transport-Security"]
            events = app()
            events.connection.request(
                "GET", "/v1/events", headers={"Authorization": f"Bearer {events.bearer}"})
            assert "max-age" in events.connection.getresponse().headers["Strict-Transport-Security"]
            # Longer than a record, and than what is read at a time.
            for number in range(20):
                send(alice, "tls", str(number) * 8_000)
            assert [text[0] for text in texts(alice, "tls")][:10] == list("0123456789")
            assert raw(node, b"GET /v1/chats HTTP/1.1\r\nHost: a\r\n\r\n") == b""
            make_certificate()
            node.process.send_signal(signal.SIGHUP)
            until(lambda: b"keys read again" in open(node.log.name, "rb").read(), "it is read")
            assert len(texts(alice, "tls")) == 20
            assert len(texts(app(), "tls")) == 20

            async def run():
                trust = ssl.create_default_context(cafile=files[0])
                async with websockets.connect(
                        f"wss://127.0.0.1:{node.http}/v1/socket", ssl=trust,
                        additional_headers={"Authorization": "Bearer " + token("alice")}) as line:
                    status, body, _ = await ask(line, "GET", "conversations/tls/messages")
                    assert status == 200 and len(body["messages"]) == 20
            asyncio.run(run())


# MARK: The node


@check
def a_node_that_stops_answers_what_it_was_asked(cluster):
    node = cluster.nodes[2]
    app = App(node, "alice")
    app.get("chats")
    node.process.terminate()
    assert node.process.wait(timeout=5) == 0
    node.start(*cluster.nodes)
    until(lambda: node.ask("READY") == ["OK"], "n3 is ready again")


@check
def long_answers_are_compressed_on_request(cluster):
    alice, = chat(cluster, "packed", "alice")
    for number in range(40):
        send(alice, "packed", f"the same again, {number}")
    path = "conversations/packed/messages"
    plain = alice.get(path, headers={"Accept-Encoding": "identity"})
    assert plain.headers["Content-Encoding"] is None
    for accepted in ("gzip", "br, gzip;q=0.5", "GZIP"):
        packed = alice.get(path, headers={"Accept-Encoding": accepted})
        assert packed.headers["Content-Encoding"] == "gzip", accepted
        assert gzip.decompress(packed.text) == plain.text
        assert len(packed.text) < len(plain.text) / 3, len(packed.text)
    for refused in ("gzip;q=0", "br", "gzip;q=0.0"):
        assert alice.get(path, headers={"Accept-Encoding": refused}).headers["Content-Encoding"] is None, refused
    assert alice.get("token", headers={"Accept-Encoding": "gzip"}).headers["Content-Encoding"] is None
    described = alice.get("openapi.json", headers={"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(described.text))["openapi"]


@check
def who_asks_too_often_waits_and_nobody_else(cluster):
    """On a node of its own, which takes five requests a second of a user."""

    def are_mostly_refused(statuses):
        # Each permit that becomes free meanwhile answers one request.
        return statuses.count(429) > len(statuses) / 2

    with Cluster(cluster.binary, 1, ["--user-rate", "5", "--address-rate", "30"]) as strict:
        node = strict.nodes[0]
        alice, bob = App(node, "alice"), App(node, "bob")
        answered = 0
        while (refused := alice.get("chats", status=(200, 429))).status == 200:
            answered += 1
        assert 50 <= answered < 60, answered
        assert refused.headers["Retry-After"] == "1" and refused.error, refused.text
        bob.get("chats")

        async def over_a_socket():
            async with connect(node, "bob") as line:
                return [(await ask(line, "GET", "chats"))[0] for _ in range(100)]

        statuses = asyncio.run(over_a_socket())
        assert statuses[0] == 200 and are_mostly_refused(statuses[-20:]), statuses
        time.sleep(1.1)
        alice.get("chats")
        # Requests without a token count for their address, and for nobody else.
        nobody = App(node, "nobody")
        nobody.bearer = None
        statuses = [nobody.get("chats", status=(401, 429)).status for _ in range(400)]
        assert statuses[0] == 401 and are_mostly_refused(statuses[-50:]), statuses[-50:]
        assert node.ask("PING") == ["OK pong"]


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    with Cluster(binary, 3) as cluster:
        failed = SUITE.run(cluster, names=names)
        # Whatever was asked, no node has died and all hold the same.
        until(lambda: len({str(node.ask("DIGEST")) for node in cluster.nodes}) == 1,
              "the nodes hold the same")
    sys.exit(1 if failed else 0)


main()
