#!/usr/bin/env python3
"""Checks that writes which a stopped node executes late change nothing that is later.

usage: late.py BINARY [ROUNDS]    in each round, a node is stopped for three seconds (default: 1)

In each round, and for each verb over lines, HTTP and WebSockets: a client sends a write, with its
identity and time, to a node that stands still, gets no answer, repeats the write at another node,
and then writes the contrary at a third one. The node goes on and executes what waited in its
sockets. At the end, each node shows what the client wished last.
"""

import contextlib
import datetime
import json
import signal
import socket
import sys
import time

from websockets.sync.client import connect

from cluster import App, Cluster, converge, token, until
from suite import Suite

SUITE = Suite()
STOPPED_SECONDS = 3

# Of each verb: a write, the contrary, and the line that shows what holds. A write is a line, and
# the method, path and body of the request that does the same.
PIN = ("PIN {c} m1 {u}", "PUT", "conversations/{c}/pins/m1", None)
UNPIN = ("UNPIN {c} m1 {u}", "DELETE", "conversations/{c}/pins/m1", None)
HIDE = ("DELETE {c} m2 {u}", "DELETE", "conversations/{c}/messages/m2", None)
RESTORE = ("RESTORE {c} m2 {u}", "POST", "conversations/{c}/messages/m2/restore", None)
ARCHIVE = ("ARCHIVE {c} {u}", "PUT", "conversations/{c}/archive", None)
UNARCHIVE = ("UNARCHIVE {c} {u}", "DELETE", "conversations/{c}/archive", None)
BLOCK = ("BLOCKUSER {u} bob", "PUT", "blocks/bob", None)
UNBLOCK = ("UNBLOCKUSER {u} bob", "DELETE", "blocks/bob", None)
DONE = ("ACTION DONE {u} i{u}", "PUT", "items/i{u}/done", None)
UNDONE = ("ACTION UNDONE {u} i{u}", "DELETE", "items/i{u}/done", None)
ADD = ("ACTION ADD {u} id=j{u} tea", "POST", "items", {"id": "j{u}", "title": "tea"})
DROP_ADDED = ("ACTION DELETE {u} j{u}", "DELETE", "items/j{u}", None)
DROP = ("ACTION DELETE {u} i{u}", "DELETE", "items/i{u}", None)
RETRACT = ("DELETE {c} m1 {u} for=everyone", "DELETE", "conversations/{c}/messages/m1?for=everyone", None)
HIDE_CHAT = ("HIDECHAT {c} {u}", "DELETE", "conversations/{c}", None)
LEAVE = ("LEAVECHAT {c} {u}", "POST", "conversations/{c}/leave", None)
REMOVE = ("DEVICE REMOVE {u} d1", "DELETE", "devices/d1", None)


def edit(text):
    return ("EDIT {c} m1 {u} " + text, "PATCH", "conversations/{c}/messages/m1", {"text": text})


def read(message, verb="read"):
    word = {"read": "READ", "delivered": "DELIVERED"}[verb]
    return (word + " {c} {u} " + message, "PUT", "conversations/{c}/marks/" + verb, {"message": message})


def profile(name):
    return ("PROFILE {u} name=" + name, "PATCH", "profile", {"name": name})


def title(text):
    return ('ACTION EDIT {u} i{u} title="%s"' % text, "PATCH", "items/i{u}", {"title": text})


def device(text):
    return ("DEVICE ADD {u} d1 token=" + text, "PUT", "devices/d1", {"token": text})


def invite(user):
    return ("INVITE {c} {u} " + user, "PUT", "conversations/{c}/participants/" + user, None)


MESSAGE, LIST, CHAT = "MESSAGE {c} m1 bob", "HISTORY {c} {u} hidden=true", "CHAT {c} {u}"
ITEM, MARKS, DEVICES = "ACTION SHOW {u} i{u}", "MARKS {c} bob", "DEVICES {u}"
WISHES = [
    (PIN, UNPIN, MESSAGE), (UNPIN, PIN, MESSAGE), (edit("one"), edit("two"), MESSAGE),
    (edit("one"), RETRACT, MESSAGE), (HIDE, RESTORE, LIST), (RESTORE, HIDE, LIST),
    (ARCHIVE, UNARCHIVE, CHAT), (UNARCHIVE, ARCHIVE, CHAT), (BLOCK, UNBLOCK, "BLOCKED {u}"),
    (UNBLOCK, BLOCK, "BLOCKED {u}"), (DONE, UNDONE, ITEM), (UNDONE, DONE, ITEM),
    (DONE, DROP, "ACTIONS {u}"), (ADD, DROP_ADDED, "ACTIONS {u}"), (title("one"), title("two"), ITEM),
    (profile("One"), profile("Two"), "PROFILE {u}"), (read("m1"), read("m2"), MARKS),
    (read("m1", "delivered"), read("m2", "delivered"), MARKS), (device("t1"), REMOVE, DEVICES),
    (REMOVE, device("t2"), DEVICES), (invite("carol"), LEAVE, "CHAT {c} bob"),
    (HIDE_CHAT, ("SEND {c} {u} id=m3 later", "POST", "conversations/{c}/messages",
                 {"id": "m3", "text": "later"}), "HISTORY {c} {u}"),
    (LEAVE, None, "CHAT {c} bob"),
]


def operation(number):
    now = datetime.datetime.now(datetime.timezone.utc)
    return f"phone.{number}.{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}000000Z"


class Case:
    """A user of their own, who writes one pair of wishes in one way."""

    def __init__(self, way, wish, number):
        self.way, self.user = way, f"{way}{number}"
        self.first, self.then, self.shown = wish
        self.names = {"u": self.user, "c": "c" + self.user}
        self.bearer = token(self.user)
        self.waiting = None

    def filled(self, text):
        return text.format(**self.names)

    def setup(self):
        return [self.filled(line) for line in [
            "CREATE {c} {u},bob", "SEND {c} {u} id=m1 hello", "SEND {c} bob id=m2 hello",
            "ACTION ADD {u} id=i{u} milk", "PROFILE {u} name=Al", "DEVICE ADD {u} d1 token=t0"]]

    def line(self, write, stamp):
        if write[0].startswith("SEND"):
            return self.filled(write[0])
        words = self.filled(write[0]).split(" ")
        text = 4 if write[0].startswith(("EDIT", "ACTION ADD")) else len(words)
        return " ".join(words[:text] + ["op=" + stamp] + words[text:])

    def request(self, write):
        _, method, path, body = write
        filled = {key: self.filled(text) for key, text in body.items()} if body else None
        return method, self.filled(path), filled

    def send_late(self, node, stamp):
        """Sends the first wish to a node that stands still; the bytes wait in its socket."""
        if self.way == "lines":
            self.waiting = socket.create_connection(("127.0.0.1", node.admin))
            self.waiting.sendall((self.line(self.first, stamp) + "\n").encode())
            return
        method, path, body = self.request(self.first)
        if self.way == "socket":
            request = {"id": 1, "method": method, "path": "/v1/" + path, "operation": stamp}
            self.waiting.send(json.dumps(request | ({"body": body} if body else {})))
            return
        data = json.dumps(body) if body else ""
        self.waiting = socket.create_connection(("127.0.0.1", node.http))
        self.waiting.sendall((
            f"{method} /v1/{path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {self.bearer}\r\nGrapevine-Operation: {stamp}\r\n"
            f"Content-Length: {len(data)}\r\n\r\n{data}").encode())

    def late_answer(self):
        if self.way == "socket":
            return self.waiting.recv(timeout=20)
        self.waiting.settimeout(20)
        return self.waiting.recv(4096).decode()

    def is_accepted(self, answer):
        good = {"lines": "OK", "socket": '{"id":1,"status":200', "http": "HTTP/1.1 200 "}
        return answer.startswith(good[self.way])

    def write(self, node, write, stamp):
        """Writes at a node that runs, until it answers: the write is accepted."""
        if self.way == "lines":
            answer = node.ask(self.line(write, stamp))[-1]
            assert answer.startswith("OK"), (self.line(write, stamp), answer)
            return
        method, path, body = self.request(write)
        headers = {} if write[0].startswith("SEND") else {"Grapevine-Operation": stamp}
        App(node, self.user).request(method, path, body, headers=headers)


def round_of(cluster, number):
    first, second, late = cluster.nodes
    cases = [Case(way, wish, f"{number}.{index}") for way in ("lines", "http", "socket")
             for index, wish in enumerate(WISHES)]
    replies = first.ask(*(line for case in cases for line in case.setup()))
    assert all(reply.startswith("OK") for reply in replies), replies
    converge(cluster)
    with contextlib.ExitStack() as sockets:
        for case in cases:
            if case.way == "socket":
                headers = {"Authorization": "Bearer " + case.bearer}
                case.waiting = sockets.enter_context(connect(
                    f"ws://127.0.0.1:{late.http}/v1/socket", additional_headers=headers))
        late.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        try:
            stamps = {case: operation(1) for case in cases}
            for case in cases:
                case.send_late(late, stamps[case])
            for case in cases:
                case.write(first, case.first, stamps[case])
            wished = {}
            for case in cases:
                if case.then:
                    case.write(second, case.then, operation(2))
            for case in cases:
                wished[case] = second.ask(case.filled(case.shown))
            time.sleep(max(0, began + STOPPED_SECONDS - time.monotonic()))
        finally:
            late.process.send_signal(signal.SIGCONT)
        refused = 0
        for case in cases:
            refused += not case.is_accepted(case.late_answer())
        until(lambda: late.ask("READY") == ["OK"], "the stopped node is ready again")
        converge(cluster)
        for case in cases:
            for node in cluster.nodes:
                shown = node.ask(case.filled(case.shown))
                assert shown == wished[case], (case.user, case.first, case.then, shown, wished[case])
    return len(cases), refused


@SUITE.check
def what_waited_in_a_stopped_node_changes_nothing_that_is_later(cluster, rounds):
    count = refused = 0
    for number in range(rounds):
        held, not_accepted = round_of(cluster, number)
        count, refused = count + held, refused + not_accepted
    print(f"{count} wishes hold; {count - refused} late writes were accepted", flush=True)
    assert refused < count / 4, refused


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with Cluster(sys.argv[1], 3) as cluster:
        sys.exit(1 if SUITE.run(cluster, rounds) else 0)


main()
