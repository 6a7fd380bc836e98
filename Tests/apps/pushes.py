#!/usr/bin/env python3
"""Checks what nodes push to devices, with a push service and a server of this program's own.

usage: pushes.py BINARY [NAME…]    all checks, or those whose names contain one of these words

The push service reads what browsers would: it checks who sent a message (RFC 8292) and decrypts it
(RFC 8291), each with another library than the nodes'.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import time
import traceback

import http_ece
import jwt
from websockets.sync.client import connect as open_socket
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from cluster import App, Cluster, until
from suite import Suite

SECRET = b"a secret that all nodes of the cluster know\n"
SUITE = Suite()
check = SUITE.check


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """A browser's subscription, and what it was told."""

    def __init__(self, service, name):
        self.service, self.name = service, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)
        self.told, self.status, self.keys = [], 201, set()
        # Runs before an answer.
        self.before = lambda: None
        # The messages that are answered with another status, and how often each was.
        self.refusals, self.refused = {}, {}
        service.browsers[name] = self

    @property
    def token(self):
        point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return json.dumps({
            "endpoint": f"http://127.0.0.1:{self.service.port}/push/{self.name}",
            "keys": {"p256dh": encode(point), "auth": encode(self.auth)}})

    def receive(self, headers, body):
        scheme, fields = headers["Authorization"].split(" ", 1)
        assert scheme == "vapid", scheme
        fields = dict(field.strip().split("=", 1) for field in fields.split(","))
        point = decode(fields["k"])
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        claims = jwt.decode(
            fields["t"], key, ["ES256"], audience=f"http://127.0.0.1:{self.service.port}")
        assert claims["sub"] == "mailto:ops@example.org" and claims["exp"] < time.time() + 86400
        assert headers["Content-Encoding"] == "aes128gcm" and int(headers["TTL"]) > 0
        self.keys.add(fields["k"])
        text = http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth)
        told = json.loads(text)
        status = self.refusals.get(told["message"], self.status)
        if status == 201:
            self.told.append(told)
        else:
            self.refused[told["message"]] = self.refused.get(told["message"], 0) + 1
        self.before()
        return status

    def ids(self, kind="message"):
        return {each["message"] for each in self.told if each["kind"] == kind}


class Service(http.server.ThreadingHTTPServer):
    """The push service of browsers, and the server that an operator has named."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.browsers, self.hooks, self.failures, self.hook_status = {}, [], [], 200
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def check(self):
        """Demands that all that arrived was as it has to be."""
        failures, self.failures = self.failures, []
        assert not failures, failures[0]

    def receive_hook(self, headers, body):
        fields = dict(field.split("=") for field in headers["Grapevine-Signature"].split(","))
        # The line break at its end is none of the secret's.
        key = hmac.digest(SECRET.rstrip(b"\n"), b"webhook", "sha256")
        code = hmac.new(key, fields["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(code, fields["v1"]), "a wrong signature"
        assert abs(int(fields["t"]) - time.time()) < 60
        told = json.loads(body)
        assert headers["Grapevine-Push-Id"] == told["id"]
        if self.hook_status == 200:
            self.hooks.append(told)
        return self.hook_status


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = 500
        try:
            if self.path == "/hook":
                status = self.server.receive_hook(self.headers, body)
            else:
                browser = self.server.browsers[self.path.rsplit("/", 1)[1]]
                status = browser.receive(self.headers, body)
        except Exception:
            self.server.failures.append(traceback.format_exc())
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class PushCluster(Cluster):
    def __init__(self, binary, service):
        super().__init__(binary, 3)
        secret = os.path.join(self.folder, "push.key")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(SECRET)
        self.options = [
            "--push-key", secret, "--push-url", f"http://127.0.0.1:{service.port}/hook",
            "--push-contact", "mailto:ops@example.org"]


def room(cluster, name):
    alice = App(cluster.nodes[0], "alice")
    alice.post("conversations", {"id": name, "participants": ["bob"]})
    return alice, App(cluster.nodes[1], "bob")


def subscribe(bob, browser):
    bob.put(f"devices/{browser.name}", {"token": browser.token})
    # Each shard is looked at every two seconds.
    time.sleep(3)


def send(alice, name, message, text="noodles?"):
    alice.post(f"conversations/{name}/messages", {"id": message, "text": text})


@check
def a_browser_is_told_of_a_message_and_of_its_withdrawal(cluster, service):
    alice, bob = room(cluster, "one")
    alice.patch("profile", {"name": "Alice A."})
    browser = Browser(service, "phone1")
    subscribe(bob, browser)
    send(alice, "one", "m1")
    bob.post("conversations/one/messages", {"id": "own", "text": "mine"})
    until(lambda: browser.ids() == {"m1"}, "the browser is told", 10)
    told = browser.told[0]
    assert told["conversation"] == "one" and told["from"] == "alice", told
    assert told["fromName"] == "Alice A." and told["text"] == "noodles?", told
    assert told["badge"] >= 1 and told["device"] == "phone1" and told["user"] == "bob", told
    assert browser.keys == {bob.get("push").json["key"]}
    alice.delete("conversations/one/messages/m1?for=everyone")
    until(lambda: browser.ids("withdrawn") == {"m1"}, "the browser is told of the deletion", 10)
    assert "text" not in browser.told[-1]
    assert not any(each["message"] == "own" for each in browser.told)


@check
def other_devices_are_told_by_the_operators_server(cluster, service):
    alice, bob = room(cluster, "two")
    bob.put("devices/phone2", {"token": "an-apns-token"})
    time.sleep(3)
    send(alice, "two", "m2")
    until(lambda: any(each["message"] == "m2" and each["token"] == "an-apns-token"
                      for each in service.hooks), "the server is told", 10)


@check
def a_push_service_that_fails_is_asked_again(cluster, service):
    alice, bob = room(cluster, "three")
    browser = Browser(service, "phone3")
    browser.status = 503
    subscribe(bob, browser)
    send(alice, "three", "m3")
    time.sleep(2)
    browser.status = 201
    until(lambda: "m3" in browser.ids(), "the browser is told after all", 15)


@check
def what_is_refused_or_fails_holds_up_nothing_behind_it(cluster, service):
    alice, bob = room(cluster, "refused")
    browser = Browser(service, "phone8")
    browser.refusals = {"bad": 400, "late": 503}
    subscribe(bob, browser)
    for message in ("bad", "late"):
        send(alice, "refused", message)
        until(lambda: browser.refused.get(message), f"{message} is refused", 10)
    send(alice, "refused", "good")
    until(lambda: "good" in browser.ids(), "what is behind them is told", 2)
    time.sleep(5)
    assert browser.refused["bad"] == 1 and browser.refused["late"] >= 2, browser.refused
    browser.refusals = {}
    until(lambda: "late" in browser.ids(), "what failed is told after all", 20)
    assert "bad" not in browser.ids()


@check
def slow_devices_do_not_hold_up_others(cluster, service):
    alice, bob = room(cluster, "slow")
    browser = Browser(service, "phone9")
    others = [App(cluster.nodes[0], f"slow{number}") for number in range(16)]
    alice.post("conversations", {
        "id": "crowd", "participants": ["bob"] + [f"slow{number}" for number in range(16)]})
    is_over = threading.Event()
    for number, other in enumerate(others):
        for device in range(32):
            slow = Browser(service, f"slow{number}-{device}")
            slow.before = lambda: is_over.wait(9)
            other.put(f"devices/{slow.name}", {"token": slow.token})
    subscribe(bob, browser)
    began = time.monotonic()
    send(alice, "crowd", "now")
    until(lambda: "now" in browser.ids(), "the other user is told", 5)
    send(alice, "crowd", "again")
    until(lambda: "again" in browser.ids(), "the other user is told again", 5)
    assert time.monotonic() - began < 8
    is_over.set()
    for number, other in enumerate(others):
        for device in range(32):
            other.delete(f"devices/slow{number}-{device}")


@check
def orderly_restarts_of_all_nodes_tell_nothing_twice(cluster, service):
    alice, bob = room(cluster, "rolling")
    browser = Browser(service, "phone10")
    subscribe(bob, browser)
    for number in range(5):
        send(alice, "rolling", f"r{number}")
    until(lambda: len(browser.ids()) == 5, "the browser is told", 10)
    time.sleep(1)
    for node in cluster.nodes:
        node.stop()
        time.sleep(3)
        node.start(*cluster.nodes)
        until(lambda: node.ask("READY") == ["OK"], "it is ready again")
        time.sleep(6)
    send(App(cluster.nodes[0], "alice"), "rolling", "last")
    until(lambda: "last" in browser.ids(), "the browser is told of what is new", 20)
    told = [each["message"] for each in browser.told]
    assert sorted(told) == ["last"] + [f"r{number}" for number in range(5)], told


@check
def a_device_that_the_push_service_does_not_know_is_removed(cluster, service):
    alice, bob = room(cluster, "four")
    browser = Browser(service, "phone4")
    browser.status = 410
    subscribe(bob, browser)
    send(alice, "four", "m4")

    def devices():
        return {each["id"] for each in bob.get("devices").json["devices"]}
    until(lambda: "phone4" not in devices(), "the device is removed", 10)


@check
def a_device_with_a_new_token_is_not_removed_for_the_former_one(cluster, service):
    alice, bob = room(cluster, "rotated")
    former, later = Browser(service, "phone7"), Browser(service, "later")
    former.status = 410
    former.before = lambda: bob.put("devices/phone7", {"token": later.token})
    subscribe(bob, former)
    send(alice, "rotated", "m7")
    until(lambda: "m7" in later.ids(), "the device is told by its new token", 10)


@check
def an_open_conversation_is_not_told_of(cluster, service):
    alice, bob = room(cluster, "five")
    browser = Browser(service, "phone5")
    subscribe(bob, browser)
    bob.put("devices/phone5/viewing", {"conversation": "five"})
    send(alice, "five", "m5")
    bob.put("devices/phone5/viewing", {})
    send(alice, "five", "m6")
    until(lambda: "m6" in browser.ids(), "the browser is told of what it did not show", 10)
    assert "m5" not in browser.ids()


@check
def what_was_read_is_not_pushed_and_withdrawn_where_it_was(cluster, service):
    alice, bob = room(cluster, "read")
    browser = Browser(service, "phone11")
    subscribe(bob, browser)
    send(alice, "read", "r1")
    until(lambda: "r1" in browser.ids(), "the browser is told", 10)
    browser.refusals = {"r2": 503}
    send(alice, "read", "r2")
    until(lambda: browser.refused.get("r2"), "the push fails", 10)
    bob.put("conversations/read/marks/read", {"message": "r2"})
    until(lambda: "r1" in browser.ids("withdrawn"), "what was read is withdrawn", 10)
    browser.refusals = {}
    time.sleep(5)
    assert "r2" not in browser.ids(), browser.told


@check
def a_token_is_told_for_the_user_who_registered_it_last(cluster, service):
    alice, bob = room(cluster, "shared")
    carol = App(cluster.nodes[2], "carol")
    alice.post("conversations", {"id": "others", "participants": ["carol"]})
    browser = Browser(service, "phone12")
    subscribe(bob, browser)
    subscribe(carol, browser)
    send(alice, "shared", "for-bob")
    send(alice, "others", "for-carol")
    until(lambda: "for-carol" in browser.ids(), "the later user is told", 10)
    until(lambda: "phone12" not in {each["id"] for each in bob.get("devices").json["devices"]},
          "the other is removed", 10)
    assert "for-bob" not in browser.ids(), browser.told


@check
def what_is_on_screen_ends_with_the_socket(cluster, service):
    alice, bob = room(cluster, "screen")
    browser = Browser(service, "phone13")
    subscribe(bob, browser)
    address = f"ws://127.0.0.1:{bob.node.http}/v1/socket"
    fields = {"Authorization": "Bearer " + bob.bearer}
    with open_socket(address, additional_headers=fields) as line:
        line.send(json.dumps({
            "id": 1, "method": "PUT", "path": "/v1/devices/phone13/viewing",
            "body": {"conversation": "screen"}}))
        assert json.loads(line.recv(timeout=5))["status"] == 200
        send(alice, "screen", "seen")
        time.sleep(1)
    time.sleep(1)
    send(alice, "screen", "unseen")
    until(lambda: "unseen" in browser.ids(), "the browser is told of what it does not show", 10)
    assert "seen" not in browser.ids()


@check
def the_next_owner_goes_on_when_a_node_dies(cluster, service):
    alice, bob = room(cluster, "six")
    browser = Browser(service, "phone6")
    subscribe(bob, browser)
    send(alice, "six", "before")
    until(lambda: "before" in browser.ids(), "the browser is told", 10)
    shard = next(line for line in cluster.nodes[0].ask("OWNERS bob") if "SHARD" in line)
    first = shard.split("owners=")[1].split()[0].split(",")[0]
    victim = next(node for node in cluster.nodes if node.name == first)
    victim.kill()
    other = next(node for node in cluster.nodes if node is not victim)
    alice = App(other, "alice")
    send(alice, "six", "after")
    until(lambda: "after" in browser.ids(), "the browser is told by the next owner", 30)
    ids = {}
    for each in browser.told:
        ids.setdefault(each["message"], set()).add(each["id"])
    # Told twice perhaps, but with one id.
    assert all(len(each) == 1 for each in ids.values()), ids
    victim.start(*cluster.nodes)
    until(lambda: victim.ask("READY") == ["OK"], "it is ready again")


@check
def the_metrics_count_pushes(cluster, service):
    lines = [line for node in cluster.nodes for line in node.ask("METRICS")
             if line.startswith("grapevine_notify_total")]
    counts = {}
    for line in lines:
        result = line.split('result="')[1].split('"')[0]
        counts[result] = counts.get(result, 0) + int(line.split()[-1])
    assert counts["delivered"] >= 2 and set(counts) == {
        "delivered", "failed", "refused", "dropped"}, counts


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    service = Service()
    with PushCluster(binary, service) as cluster:
        failed = SUITE.run(cluster, service, after=service.check, names=names)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
