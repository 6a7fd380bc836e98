#!/usr/bin/env python3
"""Checks accounts against a cluster of three real nodes: sign-up, sign-in, tokens and sign-out.

usage: accounts.py BINARY [NAME…]    all checks, or those whose names contain one of these words
"""

import base64
import concurrent.futures
import contextlib
import datetime
import hashlib
import hmac
import http.client
import json
import os
import re
import subprocess
import sys
import time
import uuid

import websockets
from websockets.sync.client import connect as open_socket

from cluster import Answer, App, Cluster, Node, converge, cut_off, down, token, until
from suite import Suite

SUITE = Suite()
check = SUITE.check

# Begins every password of these checks, so that one search finds any of them.
MARK = f"pass-{uuid.uuid4().hex}-"

# Every access token and refresh token that a node has issued.
TOKENS = set()

# The requests that need no access token, and the other requests of accounts.
SIGNED_OUT = {
    ("POST", "/v1/accounts"), ("POST", "/v1/sessions"), ("POST", "/v1/sessions/refresh"),
}
SIGNED_IN = {
    ("DELETE", "/v1/sessions/current"), ("DELETE", "/v1/sessions"), ("GET", "/v1/account"),
    ("PUT", "/v1/account/password"), ("PUT", "/v1/account/email"),
    ("POST", "/v1/account/delete"),
}

# The most seconds until every connected node refuses an access token that was revoked.
REVOKED_WITHIN = 1


# MARK: Nodes


class AccountNode(Node):
    """A process without --jwt-key: the port for apps has accounts of its own."""

    def sign_in_options(self):
        return []


class AccountCluster(Cluster):
    def __init__(self, binary):
        # More is logged at this level, and none of it may be a secret.
        super().__init__(binary, 3, ["--log", "debug"])
        self.nodes = [
            AccountNode(self, node.name, (node.gossip, node.admin, node.http))
            for node in self.nodes
        ]


# MARK: Apps


class Device(App):
    """A client on one device, which signs in with an e-mail address and a password."""

    def __init__(self, node):
        super().__init__(node, "nobody")
        self.bearer = self.refresh_token = None

    def attempt(self, method, path, body=None, headers=None):
        """Sends a request once; returns the answer, whatever its status."""
        fields = {"Authorization": "Bearer " + self.bearer} if self.bearer else {}
        if self.session:
            fields["Grapevine-Token"] = self.session
        data = json.dumps(body) if body is not None else None
        self.connection.request(method, "/v1/" + path, data, fields | (headers or {}))
        answer = Answer(self.connection.getresponse())
        self.session = answer.token or self.session
        if answer.status >= 400:
            assert answer.json["error"]["code"] == answer.status and answer.error, answer.text
        return answer

    def request(self, method, path, body=None, headers=None, status=200):
        """Repeats a request that is answered 503, as a client has to: a node may lack the key of
        an access token, and says when to come again."""
        end = time.monotonic() + 10
        answer = self.attempt(method, path, body, headers)
        while answer.status == 503 and time.monotonic() < end:
            assert int(answer.headers["Retry-After"]) >= 1, answer.text
            time.sleep(0.1)
            answer = self.attempt(method, path, body, headers)
        wanted = status if isinstance(status, tuple) else (status,)
        assert answer.status in wanted, (method, path, answer.status, answer.text)
        return answer

    def take(self, answer):
        """Goes on with the tokens of an answer."""
        tokens = answer.json
        assert tokens.keys() == {"user", "accessToken", "expiresIn", "refreshToken"}, tokens
        self.user, self.bearer = tokens["user"], tokens["accessToken"]
        self.refresh_token = tokens["refreshToken"]
        TOKENS.update((self.bearer, self.refresh_token))
        return self

    def sign_up(self, email, password):
        self.email, self.password = email, password
        return self.take(self.post("accounts", {"email": email, "password": password}))

    def sign_in(self, email, password):
        self.email, self.password = email, password
        return self.take(self.post("sessions", {"email": email, "password": password}))

    def refresh(self, **more):
        body = {"refreshToken": self.refresh_token} | more
        return self.take(Device(self.node).post("sessions/refresh", body))

    def refresh_refused(self):
        body = {"refreshToken": self.refresh_token}
        Device(self.node).post("sessions/refresh", body, status=401)

    def at(self, node):
        """Returns this client as it goes on at a node, over a new connection."""
        other = Device(node)
        kept = ("user", "email", "password", "bearer", "refresh_token", "session")
        other.__dict__.update({key: self.__dict__[key] for key in kept})
        return other

    def on(self, cluster):
        """Returns this client at each node, whether it is signed in there or not."""
        return [self.at(node) for node in cluster.nodes]

    def on_each(self, cluster):
        """Returns this client at each node, whose connection has been signed in already."""
        apps = [self.at(node) for node in cluster.nodes]
        for app in apps:
            app.get("account")
        return apps


def password(name="x"):
    return MARK + name


def email_digest(email):
    return base64url(hashlib.sha256(email.encode()).digest())


def sign_up(node, name):
    return Device(node).sign_up(f"{name}@example.org", password(name))


def sign_in(node, device):
    return Device(node).sign_in(device.email, device.password)


def sign_in_refused(node, email, password):
    answer = Device(node).post("sessions", {"email": email, "password": password}, status=401)
    assert answer.error == "Wrong e-mail address or password", answer.text


def refused(apps):
    """Waits until the access token of each client is refused, over open connections and new."""
    end = time.monotonic() + REVOKED_WITHIN
    for app in apps:
        while app.attempt("GET", "account").status != 401:
            assert time.monotonic() < end, f"{app.node.name} takes a token that was revoked"
            time.sleep(0.01)
    for app in apps:
        app.at(app.node).get("account", status=401)


# MARK: Sign-up and sign-in


@check
def nothing_but_sign_up_and_sign_in_goes_without_a_token(cluster):
    """R-30: without an access token 401, on each path of the description."""
    nobody = Device(cluster.nodes[0])
    described = {
        (method.upper(), path) for path, methods in nobody.get("openapi.json").json["paths"].items()
        for method in methods.keys() - {"parameters"}
    }
    missing = (SIGNED_OUT | SIGNED_IN) - described
    assert not missing, f"not in the description of the API: {missing}"
    for method, path in described - SIGNED_OUT:
        path = re.sub(r"\{\w+\}", "x1", path.removeprefix("/v1/"))
        answer = nobody.request(method, path, status=401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@check
def malformed_addresses_and_passwords_are_refused(cluster):
    node = cluster.nodes[0]
    good = {"email": "form@example.org", "password": password()}
    addresses = [
        "", "x", "@example.org", "form@", "fo rm@example.org", "form@exam ple.org",
        "form@example.org\n", "fo\0rm@example.org", 5, None, ["form@example.org"],
    ]
    for email in addresses:
        answer = Device(node).post("accounts", good | {"email": email}, status=400)
        assert MARK not in answer.error
    Device(node).post("accounts", good | {"email": "x" * 2_000 + "@a.org"}, status=(400, 413))
    for wrong in ("", "1234567", "é" * 3 + "x", "x" * 257, "é" * 129, 12345678, None):
        Device(node).post("accounts", good | {"password": wrong}, status=400)
    for body in ({"email": good["email"]}, {"password": good["password"]}, [], {},
                 good | {"user": "alice"}):
        Device(node).post("accounts", body, status=400)
    # The limits are bytes: these have 8 and 256.
    Device(node).sign_up("short@example.org", "é" * 4)
    Device(node).sign_up("long@example.org", (MARK + "é" * 128)[:128].ljust(128, "é"))
    longest = MARK.ljust(256, "x")
    Device(node).sign_up("longest@example.org", longest)
    Device(node).sign_in("longest@example.org", longest)
    sign_in_refused(node, "longest@example.org", longest[:-1] + "y")


@check
def an_address_is_signed_up_once(cluster):
    """409 on every node, with the same password or another one."""
    once = sign_up(cluster.nodes[0], "once")
    for node in cluster.nodes:
        for body in ({"email": once.email, "password": once.password},
                     {"email": once.email, "password": password("other")}):
            answer = Device(node).post("accounts", body, status=409)
            assert answer.error == "This e-mail address is in use"
        assert sign_in(node, once).user == once.user


@check
def addresses_are_compared_without_regard_to_case(cluster):
    first, second, third = cluster.nodes
    cased = Device(first).sign_up("Cased.Name@Example.ORG", password("cased"))
    assert cased.get("account").json["email"] == "Cased.Name@Example.ORG"
    for node, email in zip(cluster.nodes, (
            "cased.name@example.org", "CASED.NAME@EXAMPLE.ORG", "Cased.Name@Example.ORG")):
        body = {"email": email, "password": cased.password}
        assert Device(node).sign_in(email, cased.password).user == cased.user
        Device(node).post("accounts", body, status=409)
    # A password is compared as it is.
    sign_in_refused(second, cased.email, cased.password.upper())
    other = sign_up(third, "case.finder")
    other.post("conversations", {"id": "cased", "email": "cased.NAME@example.org"})
    assert other.get("chats/cased").json["participants"] == sorted([cased.user, other.user])


@check
def a_wrong_password_and_an_unknown_address_are_answered_alike(cluster):
    node = cluster.nodes[0]

    def seconds(email):
        began = time.monotonic()
        sign_in_refused(node, email, password("wrong"))
        return time.monotonic() - began

    # In turns, so that what else the machine does meanwhile concerns both; the least times count,
    # of which a busy machine needs more.
    pairs = []
    for number in range(20):
        known = sign_up(node, f"known{number}").email
        pairs.append((seconds(known), seconds(f"unknown{number}@example.org")))
        times = sorted(min(times) for times in zip(*pairs))
        if len(pairs) >= 6 and times[0] > times[1] / 2:
            break
    assert times[0] > times[1] / 2, f"the time tells which addresses are known: {times}"


@check
def an_account_shows_its_user_alone(cluster):
    first, second, _ = cluster.nodes
    one, two = sign_up(first, "one"), sign_up(second, "two")
    assert one.user != two.user
    account = one.get("account").json
    assert account.keys() == {"user", "email", "createdAt"}, account
    assert (account["user"], account["email"]) == (one.user, one.email)
    assert account["createdAt"].endswith("Z"), account
    created = datetime.datetime.fromisoformat(account["createdAt"]).timestamp()
    assert abs(time.time() - created) < 60, account
    assert two.get("account").json["email"] == two.email
    one.get(f"account?user={two.user}", status=400)


# MARK: Access tokens


def parts(access):
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in access.split(".")[:2]]


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def signed(header, claims, key):
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    return text + "." + base64url(hmac.digest(key, text.encode(), hashlib.sha256))


@check
def an_access_token_of_one_node_is_valid_on_every_node(cluster):
    """From the moment in which it is issued, whichever node that is."""
    for number, node in enumerate(cluster.nodes):
        began = int(time.time())
        traveller = sign_up(node, f"traveller{number}")
        for app in traveller.on_each(cluster):
            assert app.get("account").json["user"] == traveller.user
        header, claims = parts(traveller.bearer)
        assert header["alg"] == "HS256" and header["kid"], header
        assert claims["sub"] == traveller.user and claims["sid"], claims
        assert claims["exp"] - claims["iat"] == 600 and abs(claims["iat"] - began) < 5, claims


@check
def tokens_outlive_the_node_that_issued_them(cluster):
    first, second, third = cluster.nodes
    heir = sign_up(third, "heir")
    with down(cluster, third):
        assert heir.at(first).get("account").json["email"] == heir.email
        heir.at(second).post("conversations", {"id": "outlived"})
        renewed = heir.at(second).refresh()
        assert renewed.at(first).get("chats/outlived").json["participants"] == [heir.user]
        assert sign_in(first, heir).user == heir.user
    assert renewed.at(third).get("account").json["user"] == heir.user
    assert renewed.at(third).refresh().user == heir.user


@check
def malformed_tokens_are_refused(cluster):
    """401 and no data on each node: another algorithm, key, signature or content, and pieces."""
    owner, other = sign_up(cluster.nodes[0], "owner"), sign_up(cluster.nodes[0], "other")
    owner.post("conversations", {"id": "owned"})
    owner.post("conversations/owned/messages", {"text": "nobody else reads this"})
    header, claims = parts(owner.bearer)
    head, body, signature = owner.bearer.split(".")
    stranger = b"0123456789abcdef0123456789abcdef"
    later = claims | {"exp": claims["exp"] + 3_600}

    def encoded(part):
        return base64url(json.dumps(part).encode())

    wrong = [
        # Without a signature.
        *(f"{encoded(header | {'alg': name})}.{body}." for name in ("none", "None", "NONE")),
        f"{encoded({'alg': 'none'})}.{body}.", f"{encoded(header | {'alg': 'none'})}.{body}",
        f"{encoded(header | {'alg': 'none'})}.{body}.{signature}",
        # In pieces.
        owner.bearer[:-1], owner.bearer[:-20], f"{head}.{body}", f"{head}.{body}.", head, ".", "..",
        f".{body}.{signature}", f"{head}..{signature}", owner.bearer + ".x", owner.bearer + "A",
        # By another key, with the id of the right one and other ids.
        signed(header, claims, stranger), signed(header, claims, b""),
        signed(header, claims, header["kid"].encode()),
        signed(header | {"kid": "k999"}, claims, stranger),
        signed(header | {"kid": "../../etc/passwd"}, claims, b""),
        signed(header | {"kid": 1}, claims, stranger), signed({"alg": "HS256"}, claims, stranger),
        signed(header | {"jwk": {"kty": "oct", "k": base64url(stranger)}}, claims, stranger),
        token(owner.user),
        # The signature of another header, or of other content.
        f"{encoded(header | {'kid': 'k999'})}.{body}.{signature}",
        f"{encoded(header | {'alg': 'RS256'})}.{body}.{signature}",
        f"{encoded(header | {'alg': 'HS512'})}.{body}.{signature}",
        f"{head}.{encoded(claims | {'sub': other.user})}.{signature}",
        f"{head}.{encoded(later)}.{signature}", f"{head}.{other.bearer.split('.')[1]}.{signature}",
        f"{head}.{body}.{other.bearer.split('.')[2]}", signed(header, later, stranger),
        owner.refresh_token,
    ]
    for node in cluster.nodes:
        app = owner.at(node)
        for app.bearer in wrong:
            for path in ("account", "conversations/owned/messages"):
                answer = app.get(path, status=401)
                assert answer.headers["WWW-Authenticate"] == "Bearer"
                assert b"nobody else" not in answer.text and owner.email not in str(answer.text)
    for bearer in (wrong[0], owner.bearer[:-1], signed(header, claims, stranger)):
        try:
            socket_of(owner, bearer).close()
            raise AssertionError("a socket was opened")
        except websockets.InvalidStatus as error:
            assert error.response.status_code == 401, error
    assert owner.get("account").json["user"] == owner.user


# MARK: Refresh tokens


@check
def a_refresh_token_is_replaced_each_time(cluster):
    device = sign_up(cluster.nodes[0], "fresh")
    seen = {device.refresh_token}
    for number in range(6):
        device = device.at(cluster.nodes[number % 3]).refresh()
        assert device.refresh_token not in seen
        seen.add(device.refresh_token)
        for app in device.on_each(cluster):
            assert app.user == device.user
    nobody = Device(cluster.nodes[0])
    for text in ("", "x", "x.y", device.bearer):
        # Such a token may be called malformed.
        nobody.post("sessions/refresh", {"refreshToken": text}, status=(400, 401))
    for body in ({}, {"refreshToken": 5}, {"refreshToken": None}):
        nobody.post("sessions/refresh", body, status=400)
    # What is no token ends no sign-in.
    device.at(cluster.nodes[1]).refresh()


@check
def a_refresh_token_that_is_used_twice_ends_its_sign_in(cluster):
    """Somebody else has it: the sign-in ends on each node, for both who use it."""
    first, second, third = cluster.nodes
    stolen = sign_up(first, "stolen")
    elsewhere = sign_in(second, stolen)
    renewed = stolen.at(first).refresh()
    apps = stolen.on_each(cluster) + renewed.on_each(cluster)
    stolen.at(second).refresh_refused()
    refused(apps)
    for node in cluster.nodes:
        renewed.at(node).refresh_refused()
        stolen.at(node).refresh_refused()
    # Other sign-ins of the same user go on.
    elsewhere.at(third).get("account")
    elsewhere.at(third).refresh()
    assert sign_in(third, stolen).user == stolen.user


@check
def a_refresh_that_lost_its_answer_is_repeated_at_another_node(cluster):
    """The same id is the same request, also after the death of the node that answered first."""
    first, second, third = cluster.nodes
    patient = sign_up(first, "patient")
    request = str(uuid.uuid4())
    answered = patient.at(third).refresh(id=request)
    with down(cluster, third):
        repeated = patient.at(first).refresh(id=request)
        again = patient.at(second).refresh(id=request)
        for device in (answered, repeated, again):
            assert device.at(second).get("account").json["user"] == patient.user
        renewed = again.at(first).refresh(id=str(uuid.uuid4()))
    assert renewed.at(third).refresh().user == patient.user
    # Another id is another request, and so a second use.
    thief = sign_up(first, "thief")
    apps = thief.at(first).refresh(id="a").on_each(cluster)
    body = {"refreshToken": thief.refresh_token, "id": "b"}
    Device(second).post("sessions/refresh", body, status=401)
    refused(apps)


# MARK: Sign-out


def socket_of(device, bearer=None):
    return open_socket(
        f"ws://127.0.0.1:{device.node.http}/v1/socket", close_timeout=1,
        additional_headers={"Authorization": "Bearer " + (bearer or device.bearer)})


def answers(line):
    """Asks a socket for something, and waits for the answer."""
    line.send(json.dumps({"id": 1, "method": "GET", "path": "/v1/chats"}))
    return json.loads(line.recv(timeout=5))["status"] == 200


def ends(line):
    """Waits until a node closes the socket of a client who has been signed out."""
    try:
        line.recv(timeout=REVOKED_WITHIN + 1)
        raise AssertionError("the socket was told something")
    except TimeoutError:
        raise AssertionError("the socket stayed open") from None
    except websockets.ConnectionClosed as error:
        assert error.rcvd and error.rcvd.code == 4401, error


@contextlib.contextmanager
def stream_of(device):
    """Opens a stream of events, and reads the first one."""
    line = http.client.HTTPConnection("127.0.0.1", device.node.http, timeout=5)
    line.request("GET", "/v1/events", headers={"Authorization": "Bearer " + device.bearer})
    response = line.getresponse()
    assert response.status == 200, response.status
    while response.readline() not in (b"", b"\n"):
        pass
    with response:
        yield response


@check
def a_sign_out_holds_on_every_node_within_a_second(cluster):
    first, second, third = cluster.nodes
    phone = sign_up(first, "leaver")
    laptop = sign_in(second, phone)
    with socket_of(phone.at(second)) as line, socket_of(laptop.at(third)) as other, \
            stream_of(phone.at(third)) as stream:
        assert answers(line) and answers(other)
        apps = phone.on_each(cluster)
        assert phone.delete("sessions/current").json == {}
        refused(apps)
        ends(line)
        assert stream.read() == b""
        # The other device stays signed in.
        assert answers(other)
    phone.delete("sessions/current", status=401)
    phone.at(third).refresh_refused()
    laptop.at(first).get("account")
    laptop.at(third).refresh()


@check
def a_sign_out_of_all_devices_holds_on_every_node_within_a_second(cluster):
    first, second, third = cluster.nodes
    devices = [sign_up(first, "quitter")]
    devices += [sign_in(node, devices[0]) for node in (second, third)]
    neighbour = sign_up(first, "neighbour")
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(socket_of(device)) for device in devices]
        other = stack.enter_context(socket_of(neighbour))
        assert all(answers(line) for line in [*lines, other])
        apps = [app for device in devices for app in device.on_each(cluster)]
        assert devices[1].delete("sessions").json == {}
        refused(apps)
        for line in lines:
            ends(line)
        assert answers(other)
    for device in devices:
        device.refresh_refused()
    # A sign-in that begins later is not concerned.
    for node in cluster.nodes:
        sign_in(node, devices[0]).on_each(cluster)


@check
def a_sign_out_on_the_other_side_of_a_cut_holds_after_the_heal(cluster):
    """The side that is asked knows nothing of the sign-in, which goes on at the other meanwhile."""
    first, second, third = cluster.nodes
    cut = sign_up(first, "cut.out")
    converge(cluster)
    with cut_off(cluster, first):
        phone = sign_in(first, cut)
        assert phone.at(second).delete("sessions/current").json == {}
        renewed = phone.at(first).refresh()
        renewed.at(first).get("account")
    refused(renewed.on(cluster) + phone.on(cluster))
    for node in cluster.nodes:
        renewed.at(node).refresh_refused()
    cut.at(third).refresh()


@check
def a_new_password_ends_sign_ins_on_the_other_side_of_a_cut(cluster):
    first, second, third = cluster.nodes
    owner = sign_up(second, "cut.password")
    converge(cluster)
    new = {"password": owner.password, "newPassword": password("cut.new")}
    with cut_off(cluster, first):
        changed = owner.at(second).take(owner.put("account/password", new))
        time.sleep(0.05)
        thief = sign_in(first, owner)
        renewed = thief.at(first).refresh()
    refused(renewed.on(cluster))
    renewed.at(third).refresh_refused()
    changed.at(first).get("account")
    changed.at(third).refresh()


@check
def an_account_that_was_deleted_on_the_other_side_of_a_cut_is_refused(cluster):
    first, second, _ = cluster.nodes
    gone = sign_up(second, "cut.gone")
    converge(cluster)
    with cut_off(cluster, first):
        gone.at(second).post("account/delete", {"password": gone.password})
        renewed = gone.at(first).refresh()
        later = sign_in(first, gone)
    refused(renewed.on(cluster) + later.on(cluster))
    later.at(second).refresh_refused()


@check
def who_creates_a_conversation_on_the_other_side_of_a_cut_does_not_read_it(cluster):
    first, second, _ = cluster.nodes
    host, guest, thief = (sign_up(second, f"cut.{name}") for name in ("host", "guest", "thief"))
    converge(cluster)
    with cut_off(cluster, first):
        host.at(second).post("conversations", {"id": "guessed", "participants": [guest.user]})
        host.at(second).post("conversations/guessed/messages", {"id": "m1", "text": "between us"})
        time.sleep(0.05)
        thief.at(first).post("conversations", {"id": "guessed"})
        thief.at(first).post("conversations/guessed/messages", {"id": "m2", "text": "let me in"})
    for node in cluster.nodes:
        thief.at(node).get("conversations/guessed/messages", status=403)
        assert thief.at(node).get("chats").json["chats"] == [], node.name
        chats = guest.at(node).get("chats").json["chats"]
        assert [chat["participants"] for chat in chats] == [sorted([host.user, guest.user])], chats


def add(adder, guest, chat, status=200):
    body = {"id": chat, "participants": [guest.user]}
    return adder.post("conversations", body, status=status)


@check
def only_users_with_an_account_are_added(cluster):
    first, second, third = cluster.nodes
    host, guest, late = (sign_up(node, f"exists.{node.name}") for node in cluster.nodes)
    for node in cluster.nodes:
        body = {"id": f"made-up-{node.name}", "participants": [guest.user, "nobody"]}
        assert host.at(node).post("conversations", body, status=404).error == "User not found"
        add(host.at(node), guest, f"real-{node.name}")
        path = f"conversations/real-{node.name}/participants"
        host.at(node).request("PUT", f"{path}/nobody", status=404)
        host.at(node).request("PUT", f"{path}/{late.user}")
    converge(cluster)
    with cut_off(cluster, first):
        new = sign_up(second, "exists.new")
        add(host.at(third), new, "new")
        add(host.at(first), new, "new-too", status=404)
    add(host.at(first), new, "new-too")
    late.at(second).post("account/delete", {"password": late.password})
    add(host.at(third), late, "deleted", status=404)


@check
def strangers_add_nobody_to_more_than_50_conversations(cluster):
    first, second, third = cluster.nodes
    victim, friend, spammer, other = (
        sign_up(first, f"strangers.{name}") for name in ("victim", "friend", "spammer", "other"))
    add(friend, victim, "friends")
    victim.post("conversations/friends/messages", {"id": "hello", "text": "hello"})
    converge(cluster)
    # Each side of a cut takes as many; afterwards no node takes more.
    with cut_off(cluster, first):
        for number in range(30):
            add(spammer.at(first), victim, f"spam-a{number}")
            add(spammer.at(second), victim, f"spam-b{number}")
    for node in cluster.nodes:
        answer = add(spammer.at(node), victim, "spam", status=429)
        assert answer.headers["Retry-After"] == "3600", answer.headers
        add(other.at(node), victim, "other", status=429)
        add(spammer.at(node), victim, "spam-a0")
        add(friend.at(node), victim, f"friend-{node.name}")
    # Many at once are each judged by what the others have done.
    fresh = sign_up(second, "strangers.fresh")
    flood = [spammer.at(third) for _ in range(60)]
    def create(number):
        body = {"id": f"at-once-{number}", "participants": [fresh.user]}
        return flood[number].attempt("POST", "conversations", body).status
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        statuses = list(pool.map(create, range(60)))
    assert sorted(statuses) == 50 * [200] + 10 * [429], statuses
    with down(cluster, first):
        add(other.at(second), victim, "other", status=429)
        victim.at(second).post("conversations/spam-a7/messages", {"text": "what do you want?"})
        add(spammer.at(third), victim, "answered")
        add(other.at(third), victim, "other")


@check
def who_sends_under_the_id_of_another_message_deletes_only_their_own(cluster):
    first, second, _ = cluster.nodes
    host, stranger = (sign_up(second, f"ids.{name}") for name in ("host", "stranger"))
    host.post("conversations", {"id": "shared-ids", "participants": [stranger.user]})
    converge(cluster)
    path = "conversations/shared-ids/messages"
    with cut_off(cluster, first):
        host.at(second).post(path, {"id": "m1", "text": "the earlier one"})
        time.sleep(0.05)
        stranger.at(first).post(path, {"id": "m1", "text": "mine"})
        stranger.at(first).request("DELETE", f"{path}/m1?for=everyone")
    for node in cluster.nodes:
        messages = host.at(node).get(path).json["messages"]
        assert [each["text"] for each in messages] == ["the earlier one"], messages


@check
def a_browser_that_many_sign_in_with_throws_nobody_out(cluster):
    first, second, _ = cluster.nodes
    phone = sign_up(first, "shared")
    lines = ["SET ack=all"]
    account = f"{email_digest(phone.email)} {phone.user}"
    for number in range(40):
        lines += [f"SIGNIN ADD {account} b{number} secret=x", f"SIGNIN END {account} b{number}"]
    assert all(reply.startswith("OK") for reply in first.ask(*lines))
    phone = phone.at(second).refresh()
    # Of too many, the one that was not used for longest ends, and its device is told why.
    old = sign_in(first, phone)
    phone = phone.at(second).refresh()
    lines = ["SET ack=all"] + [f"SIGNIN ADD {account} c{number} secret=x" for number in range(31)]
    assert all(reply.startswith("OK") for reply in first.ask(*lines))
    phone.at(second).refresh()
    refused([old])
    answer = Device(second).post("sessions/refresh", {"refreshToken": old.refresh_token}, status=401)
    assert "32 other devices" in answer.error, answer.error


@check
def one_refresh_token_at_two_nodes_at_once_is_taken_once(cluster):
    device = sign_up(cluster.nodes[0], "twice")
    for number in range(30):
        user = sign_in(cluster.nodes[number % 3], device)
        body = {"refreshToken": user.refresh_token}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            nodes = (cluster.nodes[number % 3], cluster.nodes[(number + 1) % 3])
            asked = [
                pool.submit(Device(node).attempt, "POST", "sessions/refresh", body)
                for node in nodes]
            statuses = sorted(future.result().status for future in asked)
        assert statuses.count(200) <= 1 and 401 in statuses, statuses


@check
def devices_end_with_the_sign_ins_that_registered_them(cluster):
    first, second, third = cluster.nodes
    phone = sign_up(first, "device.owner")
    laptop = sign_in(second, phone)
    neighbour = sign_up(third, "sender")

    def add(app, name):
        app.put(f"devices/{name}", {"token": f"token-{name}"})

    def devices():
        return {each["id"] for each in laptop.get("devices").json["devices"]}

    def notifications(name):
        return third.ask(f"NOTIFICATIONS {phone.user} {name}")

    add(phone, "phone")
    add(laptop, "laptop")
    neighbour.post(
        "conversations", {"id": "secrets", "participants": [phone.user]})
    neighbour.post("conversations/secrets/messages", {"id": "m1", "text": "secret"})
    assert any("text=secret" in line for line in notifications("phone"))
    phone.delete("sessions/current")
    assert devices() == {"laptop"}, devices()
    assert notifications("phone") == ["ERR 404 Device not found"], notifications("phone")
    # A user cannot register a device for the sign-in of somebody else, or for none.
    add(laptop, "laptop2")
    laptop.take(laptop.put(
        "account/password", {"password": password("device.owner"), "newPassword": password("new")}))
    assert devices() == set(), devices()
    add(laptop, "laptop")
    laptop.delete("sessions")
    laptop.sign_in(laptop.email, password("new"))
    assert devices() == set(), devices()
    # An operator disables the account: whoever asks next finds no device.
    add(laptop, "laptop")
    done = subprocess.run(
        [cluster.binary, "user", f"127.0.0.1:{first.admin}", "disable", laptop.email],
        capture_output=True, timeout=20)
    assert done.returncode == 0, done
    assert notifications("laptop") == ["ERR 404 Device not found"], notifications("laptop")
    assert third.ask(f"DEVICES {phone.user}") == ["OK"]


# MARK: Changes of an account


@check
def a_new_password_ends_all_other_sign_ins(cluster):
    first, second, third = cluster.nodes
    changer = sign_up(first, "changer")
    old = changer.password
    laptop = sign_in(second, changer)
    new = {"password": old, "newPassword": password("changed")}
    # The access token alone is not enough.
    wrong = new | {"password": password("wrong")}
    changer.put("account/password", wrong, status=(401, 403))
    for short in ("", "1234567", "x" * 257):
        changer.put("account/password", new | {"newPassword": short}, status=400)
    with socket_of(laptop.at(third)) as line:
        assert answers(line)
        apps = laptop.on_each(cluster)
        changed = changer.at(first).take(changer.put("account/password", new))
        refused(apps)
        ends(line)
    laptop.refresh_refused()
    assert changed.user == changer.user
    for node in cluster.nodes:
        assert changed.at(node).get("account").json["email"] == changer.email
        assert Device(node).sign_in(changer.email, new["newPassword"]).user == changer.user
    sign_in_refused(third, changer.email, old)
    changed.at(second).refresh()


@check
def a_new_address_frees_the_old_one(cluster):
    first, second, third = cluster.nodes
    mover, resident = sign_up(first, "mover"), sign_up(first, "resident")
    laptop = sign_in(second, mover)
    body = {"password": mover.password, "email": "moved@example.org"}
    mover.put("account/email", body | {"password": password("wrong")}, status=(401, 403))
    mover.put("account/email", body | {"email": "no address"}, status=400)
    answer = mover.put("account/email", body | {"email": resident.email}, status=409)
    assert answer.error == "This e-mail address is in use"
    apps = laptop.on_each(cluster)
    moved = mover.at(first).take(mover.put("account/email", body))
    refused(apps)
    laptop.refresh_refused()
    assert moved.user == mover.user
    for node in cluster.nodes:
        assert moved.at(node).get("account").json["email"] == body["email"]
        assert Device(node).sign_in(body["email"], mover.password).user == mover.user
    sign_in_refused(second, mover.email, mover.password)
    # The old address finds nobody, until somebody else signs it up.
    resident.at(third).post("conversations", {"email": mover.email}, status=404)
    heir = Device(third).sign_up(mover.email, password("heir"))
    assert heir.user not in (mover.user, resident.user)
    resident.post("conversations", {"id": "moved", "email": body["email"]})
    assert mover.user in resident.get("chats/moved").json["participants"]


@check
def a_deleted_account_is_gone(cluster):
    first, second, third = cluster.nodes
    ended = sign_up(first, "ended")
    laptop = sign_in(third, ended)
    wrong = {"password": password("wrong")}
    ended.post("account/delete", wrong, status=(401, 403))
    ended.get("account")
    apps = ended.on_each(cluster) + laptop.on_each(cluster)
    assert ended.post("account/delete", {"password": ended.password}).json == {}
    refused(apps)
    sign_in_refused(second, ended.email, ended.password)
    laptop.refresh_refused()
    other = sign_up(second, "other.after.ended")
    other.post("conversations", {"email": ended.email}, status=404)
    again = Device(third).sign_up(ended.email, ended.password)
    assert again.user != ended.user
    assert again.get("account").json["email"] == ended.email
    ended.at(second).get("account", status=401)


@check
def a_deleted_account_does_not_come_back_with_a_node_that_was_down(cluster):
    first, second, third = cluster.nodes
    gone = sign_up(third, "gone")
    gone.on_each(cluster)
    converge(cluster)
    with down(cluster, third):
        gone.at(first).post("account/delete", {"password": gone.password})
        sign_in_refused(second, gone.email, gone.password)
    sign_in_refused(third, gone.email, gone.password)
    gone.at(third).refresh_refused()
    for node in cluster.nodes:
        gone.at(node).get("account", status=401)
    again = Device(third).sign_up(gone.email, password("again"))
    assert again.user != gone.user
    converge(cluster)
    for node in cluster.nodes:
        assert sign_in(node, again).user == again.user
        gone.at(node).get("account", status=401)
    sign_in_refused(third, gone.email, gone.password)


@contextlib.contextmanager
def leaves_the_disks(cluster):
    """Gives a user's client, and waits until nothing of the user is on any disk.

    That is its address, its password's hash, its name, push tokens, items and unsent files."""
    first = cluster.nodes[0]
    gone = sign_up(first, f"leaver-{uuid.uuid4().hex}")
    mark = f"marker-{uuid.uuid4().hex}"
    gone.request("PATCH", "profile", {
        "name": f"{mark}-name", "email": gone.email, "photo": f"{mark}-photo"})
    gone.put("devices/phone", {"token": f"{mark}-push"})
    gone.post("items", {"title": f"{mark}-item"})
    chat = gone.post("conversations", {"participants": [gone.user]}).json["id"]
    gone.put(f"conversations/{chat}/blobs/unsent", f"{mark}-file")
    said = first.ask(f"ACCOUNTS {email_digest(gone.email)}")[0]
    secret = re.search(r'password="?([^ "]+)', said).group(1).split("$")[-1]
    needles = [gone.email, secret, f"{mark}-name", f"{mark}-photo", f"{mark}-push",
               f"{mark}-item", f"{mark}-file"]

    def files():
        words = [word for needle in needles for word in ("-e", needle)]
        found = subprocess.run(
            ["grep", "-r", "-a", "-o", "-F", *words, cluster.folder], stdout=subprocess.PIPE)
        return set(found.stdout.decode().split())

    found = " ".join(files())
    assert all(needle in found for needle in needles), found
    yield gone
    until(lambda: not files(), "what a deleted account had stored has left all disks", 10)
    time.sleep(1)
    assert not files(), files()


@check
def what_a_deleted_account_had_stored_leaves_the_disks(cluster):
    with leaves_the_disks(cluster) as gone:
        gone.post("account/delete", {"password": gone.password})


@check
def what_an_account_had_stored_that_an_operator_removes_leaves_the_disks(cluster):
    with leaves_the_disks(cluster) as gone:
        address = f"127.0.0.1:{cluster.nodes[1].admin}"
        subprocess.run(
            [cluster.binary, "user", address, "remove", gone.email], check=True, timeout=20)


@check
def what_accounts_answer_is_carried_to_other_nodes(cluster):
    """What one node has answered about an account is known at another, or the answer is 503."""
    first, _, third = cluster.nodes
    converge(cluster)
    with cut_off(cluster, third):
        alone = sign_up(third, "alone")
        assert alone.session, "the answer to a sign-up has no token"
        assert alone.at(first).attempt("GET", "account").status == 503
    converge(cluster)
    assert alone.at(first).get("account").json["email"] == alone.email


# MARK: Conversations


@check
def a_profile_has_the_address_of_its_account(cluster):
    first, second, _ = cluster.nodes
    pat, sue = sign_up(first, "pat"), sign_up(second, "sue")
    for wrong in (sue.email, "boss@example.org", "no address"):
        pat.patch("profile", {"email": wrong}, status=(400, 403))
    pat.patch("profile", {"name": "Pat", "email": pat.email.upper()})
    assert pat.get("profile").json["email"] == pat.email.upper()
    new = f"new-{pat.email}"
    pat.take(pat.put("account/email", {"password": pat.password, "email": new}))
    assert pat.get("profile").json["email"] == new
    pat.patch("profile", {"email": None})
    assert "email" not in pat.get("profile").json


@check
def addresses_are_looked_up_by_nobody_in_numbers(cluster):
    first = cluster.nodes[0]
    pia = sign_up(first, "pia")
    for number in range(30):
        pia.post("conversations", {"email": f"x{number}@example.org"}, status=404)
    answer = pia.attempt("POST", "conversations", {"email": "x30@example.org"})
    assert answer.status == 429, answer.text
    assert 1 <= int(answer.headers["Retry-After"]) <= 10, answer.headers


@check
def a_conversation_is_begun_by_an_address(cluster):
    first, second, third = cluster.nodes
    ann, ben, cem = sign_up(first, "ann"), sign_up(second, "ben"), sign_up(third, "cem")
    answer = ann.post("conversations", {"email": "nobody@example.org"}, status=404)
    assert answer.error == "No account has this e-mail address"
    for wrong in ("no address", 5, None):
        ann.post("conversations", {"email": wrong}, status=(400, 404))
    body = {"id": "byaddress", "title": "Lunch", "email": ben.email, "participants": [cem.user]}
    assert ann.post("conversations", body).json["id"] == "byaddress"
    # The same request again, at another node, is the same conversation.
    assert ann.at(third).post("conversations", body).json["id"] == "byaddress"
    assert ann.get("chats/byaddress").json["participants"] == sorted(
        [ann.user, ben.user, cem.user])
    ann.post("conversations/byaddress/messages", {"text": "noodles?"})
    for device in (ben, cem):
        device.session = ann.session
        messages = device.get("conversations/byaddress/messages").json["messages"]
        assert [message["text"] for message in messages] == ["noodles?"]
    with socket_of(ann) as line:
        # What follows at once is about a conversation that the address has to be looked up for.
        for number, (path, sent) in enumerate([
                ("conversations", {"id": "bysocket", "email": ben.email}),
                ("conversations/bysocket/messages", {"id": "m1", "text": "hello"}),
                ("conversations", {"email": "nobody@example.org"})]):
            line.send(json.dumps(
                {"id": number, "method": "POST", "path": "/v1/" + path, "body": sent}))
        replies = [json.loads(line.recv(timeout=5)) for _ in range(3)]
        assert sorted((reply["id"], reply["status"]) for reply in replies) == [
            (0, 200), (1, 200), (2, 404)], replies
    ben.get("conversations/bysocket/messages/m1/edits")
    named = ann.post("conversations", {"email": ben.email}).json["id"]
    assert named and named != "byaddress"


@check
def a_conversation_is_begun_by_several_addresses(cluster):
    first, second, third = cluster.nodes
    ida, jon, kim = sign_up(first, "ida"), sign_up(second, "jon"), sign_up(third, "kim")
    body = {"id": "byaddresses", "emails": [jon.email, kim.email]}
    assert ida.post("conversations", body).json["id"] == "byaddresses"
    assert ida.get("conversations/byaddresses").json["participants"] == sorted(
        [ida.user, jon.user, kim.user])
    answer = ida.post(
        "conversations", {"emails": [jon.email, "nobody@example.org"]}, status=404)
    assert answer.error == "No account has the e-mail address nobody@example.org"
    for wrong in ("no list", [5], [jon.email] * 21):
        ida.post("conversations", {"emails": wrong}, status=400)
    with socket_of(ida) as line:
        line.send(json.dumps({"id": 1, "method": "POST", "path": "/v1/conversations",
                              "body": {"id": "bysockets", "emails": body["emails"]}}))
        assert json.loads(line.recv(timeout=5))["status"] == 200
    assert len(kim.get("conversations/bysockets").json["participants"]) == 3


@check
def both_sides_of_a_cut_sign_one_address_up(cluster):
    """Each user keeps the account, and the address finds the earlier one on every node."""
    first, second, third = cluster.nodes
    caller = sign_up(second, "caller")
    converge(cluster)
    with cut_off(cluster, first):
        earlier = Device(first).sign_up("cut@example.org", password("earlier"))
        time.sleep(0.05)
        later = Device(third).sign_up("CUT@example.org", password("later"))
        assert earlier.user != later.user
        # Both sides have the keys of access tokens, and go on.
        assert earlier.get("account").json["user"] == earlier.user
        assert later.at(second).get("account").json["user"] == later.user
    for number, node in enumerate(cluster.nodes):
        for device in (earlier, later):
            assert sign_in(node, device).user == device.user
            assert device.at(node).get("account").json["email"] == device.email
        app = caller.at(node)
        app.post("conversations", {"id": f"cut{number}", "email": "cut@example.org"})
        participants = app.get(f"chats/cut{number}").json["participants"]
        assert participants == sorted([caller.user, earlier.user]), (node.name, participants)
        body = {"email": earlier.email, "password": password("third")}
        Device(node).post("accounts", body, status=409)
    sign_in_refused(second, earlier.email, password("neither"))
    # Each sign-in goes on for itself.
    assert later.at(first).refresh().user == later.user
    assert earlier.at(third).refresh().user == earlier.user


# MARK: Secrets


@check
def wrong_passwords_are_answered_later_and_later(cluster):
    node = cluster.nodes[0]
    guessed = sign_up(node, "guessed")

    def guess(text):
        body = {"email": guessed.email, "password": text}
        return Device(node).attempt("POST", "sessions", body)

    end, waits, tries = time.monotonic() + 15, [], 0
    while len(waits) < 2 or waits[-1] <= waits[0]:
        assert time.monotonic() < end, f"the waits do not grow: {waits} after {tries} tries"
        answer = guess(password("guess"))
        tries += 1
        if answer.status == 401:
            continue
        assert answer.status == 429, answer.text
        waits.append(int(answer.headers["Retry-After"]))
        assert tries > 2 and waits[-1] >= 1, (tries, waits)
        # Nothing is learnt during the wait.
        assert guess(guessed.password).status == 429
        # A new sign-in has to wait, and a device that is signed in has not.
        guessed.get("account")
        time.sleep(min(waits[-1], 5) + 0.1)
    until(lambda: guess(guessed.password).status == 200, "the right password signs in again")


@check
def operators_add_disable_and_remove_accounts(cluster):
    """grapevine user, against one node after the other."""
    email, first, second = f"op-{uuid.uuid4().hex}@example.org", password("a"), password("b")

    def user(number, change, secret="", status=0):
        address = f"127.0.0.1:{cluster.nodes[number].admin}"
        done = subprocess.run(
            [cluster.binary, "user", address, change, email], input=secret + "\n", text=True,
            capture_output=True, timeout=20)
        assert done.returncode == status, done
        assert "argon2" not in done.stdout + done.stderr
        return done.stdout

    user(0, "show", status=1)
    assert user(0, "add", first).split()[1] == f"email={email}"
    user(1, "add", second, status=1)
    user(1, "add", "short", status=64)
    app = Device(cluster.nodes[2])
    app.sign_in(email, first)
    assert " signins=1" in user(2, "show")

    user(1, "password", second)
    refused([app])
    sign_in_refused(cluster.nodes[0], email, first)
    app.sign_in(email, second)
    user(0, "disable")
    refused([app])
    assert " disabled=true" in user(1, "show")
    user(0, "enable")
    app.sign_in(email, second)
    user(2, "remove")
    refused([app])
    user(2, "show", status=1)


@check
def operators_list_all_accounts_and_sign_users_in(cluster):
    """More accounts than one reply lists, on all shards; a token works on every node."""
    def user(node, *words):
        result = subprocess.run(
            [cluster.binary, "user", f"127.0.0.1:{cluster.nodes[node].admin}", *words],
            capture_output=True, text=True)
        assert result.returncode == 0, (words, result.stderr)
        return result.stdout

    before = user(0, "list").splitlines()
    lines = ["SET ack=all"]
    for number in range(600):
        email = f"many{number}@example.org"
        lines.append(f"ACCOUNT ADD {email_digest(email)} many{number} email={email} password=x")
    replies = cluster.nodes[0].ask(*lines)
    assert all(reply.startswith("OK") for reply in replies), replies[-3:]
    for node in range(3):
        listed = user(node, "list").splitlines()
        emails = [line.split("email=")[1].split()[0] for line in listed]
        assert len(listed) == len(before) + 600 and len(set(emails)) == len(emails)
        assert not any("x" == word.split("=")[-1] for line in listed for word in line.split())
    person = sign_up(cluster.nodes[1], "token")
    bearer = user(2, "token", person.email).strip()
    TOKENS.add(bearer)
    guest = person.at(cluster.nodes[0])
    guest.bearer = bearer
    for node in cluster.nodes:
        other = guest.at(node)
        other.bearer = bearer
        assert other.get("account").json["user"] == person.user
    user(1, "disable", person.email)
    until(lambda: guest.get("chats", status=(200, 401)).status == 401, "the token is revoked")


@check
def a_node_may_be_closed_to_sign_ups(cluster):
    *others, node = cluster.nodes
    open_options = cluster.options
    cluster.options = open_options + ["--sign-up", "closed"]
    node.kill()
    node.start(*others)
    body = {"email": f"c-{uuid.uuid4().hex}@example.org", "password": password("c")}
    Device(node).post("accounts", body, status=403)
    Device(node).post("sessions", body, status=401)
    cluster.options = open_options
    node.kill()
    node.start(*others)
    converge(cluster)


@check
def no_secret_stands_in_any_file(cluster):
    """Passwords, access tokens and refresh tokens of all checks; the search finds an address."""
    kept = sign_up(cluster.nodes[0], "kept").at(cluster.nodes[1]).refresh()
    sign_in(cluster.nodes[2], kept)
    converge(cluster)
    secrets = [MARK.encode(), *(secret.encode() for secret in TOKENS)]
    # What Base64 makes of a password, wherever in a text it begins.
    for start in range(3):
        coded = base64.b64encode(b"\0" * start + MARK.encode())
        secrets.append(coded[4:len(coded) // 4 * 4 - 4])
    found, known = [], 0
    for folder, _, names in os.walk(cluster.folder):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                data = file.read()
            known += kept.email.encode() in data
            found += [(path, secret[:20]) for secret in secrets if secret in data]
    assert not found, found
    assert known, "the search finds nothing that is stored"


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    with AccountCluster(binary) as cluster:
        failed = SUITE.run(cluster, names=names)
        # Whatever was asked, no node has died and all store the same.
        converge(cluster)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
