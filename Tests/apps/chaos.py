#!/usr/bin/env python3
"""Lets users write, share files and sign in and out while nodes die, stop and are cut off.

usage: chaos.py BINARY [SECONDS [SEED]]

Each user has several clients, over HTTP and over WebSockets, which repeat a request without an
answer at another node. At the end every node runs and is connected, the nodes converge, and the
checker of history.py judges what the clients saw during the run and what each node says then.
"""

import base64
import collections
import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import websockets
from websockets.sync.client import connect as open_socket

from accounts import AccountNode
from cluster import Cluster, until
from history import (
    DONE, REFUSED, UNKNOWN, Account, Attempt, Device, Download, History, Message, Push, Read,
    SignIn, Upload, Use, check_checker, every_device_is_told, findings, is_done, may_be_done,
    withdrawals_follow)
from pushes import SECRET, Browser, Service

NODES = 3
USERS = ("ann", "ben", "cem")

# Seconds until a client gives an answer up, and goes to another node.
ANSWER_SECONDS = 2

# The most attempts of one request.
TRIES = 6

# The most sign-ins of an account, with those that were perhaps made: the cluster keeps 32.
SIGN_INS_MAX = 24

# The most messages of a conversation: all of them stand in one answer.
MESSAGES_MAX = 150

FILE_BYTES = (0, 1, 100, 5_000, 32 * 1024, 32 * 1024 + 1, 100_000, 300_000)


# MARK: Nodes


class ChaosNode(AccountNode):
    """A process of which it is known how often it was started."""

    life = 0

    def start(self, *others):
        super().start(*others)
        self.log.close()
        self.life += 1

    def signal(self, number):
        self.process.send_signal(number)

    @property
    def path(self):
        return os.path.join(self.cluster.folder, self.name)


class ChaosCluster(Cluster):
    def __init__(self, binary, service):
        super().__init__(binary, NODES)
        secret = os.path.join(self.folder, "push.key")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(SECRET)
        self.options = [
            "--push-key", secret, "--push-url", f"http://127.0.0.1:{service.port}/hook",
            "--push-contact", "mailto:ops@example.org"]
        self.nodes = [ChaosNode(self, each.name, (each.gossip, each.admin, each.http))
                      for each in self.nodes]

    def answers(self, node):
        """Whether a node is ready and sees all others."""
        try:
            return node.ask("READY") == ["OK"] and self.is_whole(node)
        except OSError:
            return False

    def has_converged(self):
        """Whether all nodes store the same, and say so, as cluster/converged asks them."""
        said = [node.ask("DIGEST", "STATUS") for node in self.nodes]
        digests = {str([line for line in each if line.startswith("DIGEST")]) for each in said}
        return len(digests) == 1 and all("converged=true" in str(each) for each in said)


# MARK: Push services


class Told(list):
    """What was told, each with its time."""

    def __init__(self, run):
        super().__init__()
        self.run = run

    def append(self, told):
        at = self.run.now()
        if any(told["device"] == each for each in self.run.history.devices):
            self.run.history.pushes.append(Push(told["device"], at, told))
        super().append(told)


class UnreliableBrowser(Browser):
    """A subscription at a push service that is not always there."""

    def receive(self, headers, body):
        if self.service.run.dice.random() < 0.03:
            return 503
        return super().receive(headers, body)


class ChaosService(Service):
    def __init__(self, run):
        super().__init__()
        self.run = run
        self.hooks = Told(run)

    def handle_error(self, request, client_address):
        """Passes over the connection of a node that was killed."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


# MARK: Clients


class Client:
    """A user's client on one device; it sends one request after the other."""

    def __init__(self, run, name, number, uses_socket=False):
        self.run, self.name, self.uses_socket = run, name, uses_socket
        self.dice = random.Random(run.seed * 1_000 + number)
        self.node = run.cluster.nodes[number % NODES]
        self.session = self.line = self.sign_in = None
        # What ends with the socket.
        self.stack = contextlib.ExitStack()
        self.user = self.bearer = self.refresh = None
        self.access_number = self.refresh_number = 0

    # MARK: Attempts

    def attempt(self, what, method, path, body=None, data=None, bearer=None, node=None):
        """Sends a request once; returns the attempt and the bytes of the answer."""
        self.run.gate.wait()
        node = node or self.node
        bearer = bearer if bearer is not None else self.bearer
        with self.run.counting:
            self.run.open_requests += 1
        life, began, headers, text = node.life, self.run.now(), {}, b""
        try:
            if self.uses_socket and data is None and bearer and bearer == self.bearer \
                    and node is self.node and "sessions" not in path and "account" not in path:
                status, text = self.ask_socket(method, path, body)
            else:
                status, headers, text = self.ask_http(method, path, body, data, bearer, node)
        except (OSError, http.client.HTTPException, websockets.WebSocketException, EOFError):
            status = 0
        finally:
            with self.run.counting:
                self.run.open_requests -= 1
        outcome = (DONE if 200 <= status < 300 else
                   REFUSED if 400 <= status < 500 and status != 429 else UNKNOWN)
        attempt = Attempt(
            what, node.name, life, began, self.run.now(), outcome, status, self.name)
        self.session = headers.get("Grapevine-Token") or self.session
        self.run.counts["requests"] += 1
        self.run.counts["acknowledged"] += outcome == DONE
        self.run.counts["refused"] += outcome == REFUSED
        self.run.counts["unanswered"] += outcome == UNKNOWN
        return attempt, text

    def ask_http(self, method, path, body, data, bearer, node):
        headers = {"Authorization": "Bearer " + bearer} if bearer else {}
        if self.session:
            headers["Grapevine-Token"] = self.session
        line = http.client.HTTPConnection("127.0.0.1", node.http, timeout=ANSWER_SECONDS)
        try:
            content = json.dumps(body) if body is not None else data
            line.request(method, "/v1/" + path, content, headers)
            response = line.getresponse()
            return response.status, response.headers, response.read()
        finally:
            line.close()

    def ask_socket(self, method, path, body):
        try:
            if self.line is None:
                self.line = self.stack.enter_context(open_socket(
                    f"ws://127.0.0.1:{self.node.http}/v1/socket", open_timeout=ANSWER_SECONDS,
                    close_timeout=0.1, max_size=None,
                    additional_headers={"Authorization": "Bearer " + self.bearer}))
                self.run.counts["sockets"] += 1
            self.line.send(json.dumps(
                {"id": 1, "method": method, "path": "/v1/" + path}
                | ({"body": body} if body is not None else {})))
            answer = json.loads(self.line.recv(timeout=ANSWER_SECONDS))
            return answer["status"], json.dumps(answer["body"]).encode()
        except websockets.InvalidStatus as error:
            self.line = None
            return error.response.status_code, b"{}"
        except BaseException:
            self.leave_socket()
            raise

    def leave_socket(self):
        with contextlib.suppress(Exception):
            self.stack.close()
        self.line = None

    def change_node(self):
        self.leave_socket()
        self.node = self.dice.choice([
            node for node in self.run.cluster.nodes if node is not self.node])

    def repeat(self, record, what, method, path, body=None, data=None, again_at=()):
        """Sends a request until it is answered, each time at another node; records the attempts.

        Returns the status, 0 for none, and the bytes of the answer."""
        status, text = 0, b""
        for _ in range(TRIES):
            attempt, text = self.attempt(what, method, path, body, data)
            record.append(attempt)
            status = attempt.status
            if status == 401 or (self.bearer and status and "sessions" not in path):
                self.note_access(attempt)
            if status == 401 and not self.sign_in_again():
                break
            if status in again_at or status in (0, 401) or attempt.outcome == UNKNOWN:
                if self.run.is_over():
                    break
                if status != 401:
                    self.change_node()
                time.sleep(self.dice.uniform(0.02, 0.2))
                continue
            break
        return status, text

    # MARK: Sign-ins

    def note_access(self, attempt, number=None, is_final=False):
        """Records that an access token was answered; what forbids the request accepts the token."""
        seen = Attempt(**(attempt.__dict__ | {
            "status": 401 if attempt.status == 401 else 200, "what": "access, " + attempt.what}))
        number = self.access_number if number is None else number
        if attempt.status and attempt.status < 500 and attempt.status != 429:
            self.sign_in.uses.append(Use("access", number, seen, is_final=is_final))

    def take(self, account, attempt, text, is_new=True):
        """Goes on with the tokens of an answer."""
        tokens = json.loads(text)
        self.user, self.bearer = tokens["user"], tokens["accessToken"]
        self.refresh = tokens["refreshToken"]
        self.leave_socket()
        if is_new:
            name = f"{self.name}-{len(self.run.history.sign_ins)}-{self.dice.randrange(1 << 30)}"
            self.sign_in = SignIn(account.email, attempt)
            self.sign_in.ends_of_all = account.ends_of_all
            self.run.history.sign_ins[name] = self.sign_in
            self.run.tokens[name] = {"access": [], "refresh": []}
            self.tokens = self.run.tokens[name]
        self.access_number, self.refresh_number = (
            len(self.tokens["access"]), len(self.tokens["refresh"]))
        self.tokens["access"].append(self.bearer)
        self.tokens["refresh"].append(self.refresh)
        self.sign_in.issued.append(attempt.began)
        return tokens

    def sign_up(self, account, password):
        body = {"email": account.email, "password": password}
        record = account.passwords[0][1]
        self.bearer = ""
        status, text = self.repeat(record, "sign-up", "POST", "accounts", body)
        account.sign_ins += 1
        if status == 200:
            account.users.add(self.take(account, record[-1], text)["user"])
            self.run.counts["sign-ups"] += 1
            return True
        return status == 409 and may_be_done(record) and self.log_in(account, password)

    def log_in(self, account, password):
        """Signs in; returns whether it did."""
        self.bearer = ""
        for _ in range(TRIES):
            if account.sign_ins >= SIGN_INS_MAX:
                return False
            account.sign_ins += 1
            attempt, text = self.attempt(
                "sign-in", "POST", "sessions", {"email": account.email, "password": password})
            if attempt.status == 200:
                self.take(account, attempt, text)
                self.run.counts["sign-ins"] += 1
                return True
            if self.run.is_over():
                return False
            self.change_node()
        return False

    def sign_in_again(self):
        """Signs in after an answer 401; returns whether the request is to be repeated."""
        return False

    def renew(self, request=None):
        """Renews the access token, and repeats that under the same id; returns the status."""
        request = request or f"r{self.dice.randrange(1 << 40)}"
        body = {"refreshToken": self.refresh, "id": request}
        status = 0
        for _ in range(TRIES):
            attempt, text = self.attempt(
                "renewal", "POST", "sessions/refresh", body, bearer="")
            status = attempt.status
            use = Use("refresh", self.refresh_number, attempt, request)
            self.sign_in.uses.append(use)
            if status == 200:
                self.take(None, attempt, text, is_new=False)
                use.given = self.refresh_number
                self.run.counts["renewals"] += 1
            if attempt.outcome != UNKNOWN or self.run.is_over():
                return status
            self.change_node()
        return status

    def sign_out(self):
        record = self.sign_in.ends
        for _ in range(TRIES):
            attempt, _ = self.attempt("sign-out", "DELETE", "sessions/current")
            record.append(attempt)
            self.note_access(attempt)
            if attempt.outcome != UNKNOWN:
                self.run.counts["sign-outs"] += attempt.outcome == DONE
                break
            if self.run.is_over():
                break
            self.change_node()
        self.leave_socket()


class ChatClient(Client):
    """A client that writes, reads, and shares files."""

    def __init__(self, run, name, number, uses_socket):
        super().__init__(run, f"{name}{number}", number, uses_socket)
        self.person, self.made, self.number = name, 0, number
        self.mine, self.has_added_device = [], False
        # What it has registered with its present sign-in.
        self.devices = []
        self.account, self.password = run.history.accounts[name], f"password-{name}"

    def sign_in_again(self):
        for device in self.devices:
            device.may_have_ended = True
        self.devices = []
        return self.log_in(self.account, self.password)

    def new(self, kind):
        self.made += 1
        return f"{kind}-{self.name}-{self.made}"

    def conversation(self):
        history = self.run.history
        return self.dice.choice([
            name for name, users in history.participants.items()
            if self.user in users and may_be_done(history.creations[name])])

    def step(self):
        actions = {
            self.send: 30, self.edit: 8, self.delete: 10, self.share: 12, self.share_twice: 4,
            self.read: 14, self.download: 10, self.create: 2, self.renew: 3, self.leave: 1.5,
            self.add_device: 2,
        }
        self.dice.choices(list(actions), list(actions.values()))[0]()

    def create(self):
        name = self.new("t")
        others = self.dice.sample(
            [user for user in self.run.users.values() if user != self.user],
            self.dice.randint(1, 2))
        self.begin(name, others)

    def begin(self, name, others):
        record = []
        self.run.history.participants[name] = [self.user, *others]
        self.run.history.creations[name] = record
        self.repeat(record, f"create {name}", "POST", "conversations",
                    {"id": name, "participants": others})

    def send(self, conversation=None):
        conversation = conversation or self.conversation()
        count = sum(each.conversation == conversation
                    for each in list(self.run.history.messages.values()))
        if count >= MESSAGES_MAX:
            return None
        name = self.new("m")
        message = Message(conversation, self.user, f"text 0 of {name}")
        self.run.history.messages[name] = message
        # A conversation may not have reached this node yet.
        status, _ = self.repeat(
            message.sends, f"send {name}", "POST", f"conversations/{conversation}/messages",
            {"id": name, "text": message.text}, again_at=(404,))
        if status == 200:
            self.mine.append(name)
            self.run.counts["messages"] += 1
        return name

    def edit(self):
        if not self.mine:
            return
        name = self.dice.choice(self.mine[-20:])
        message, record = self.run.history.messages[name], []
        text = f"text {len(message.edits) + 1} of {name}"
        message.edits.append((text, record))
        path = f"conversations/{message.conversation}/messages/{name}"
        status, _ = self.repeat(record, f"edit {name}", "PATCH", path, {"text": text},
                                again_at=(404,))
        self.run.counts["edits"] += status == 200

    def delete(self, name=None):
        if not self.mine and not name:
            return
        name = name or self.dice.choice(self.mine[-20:])
        with contextlib.suppress(ValueError):
            self.mine.remove(name)
        message = self.run.history.messages[name]
        path = f"conversations/{message.conversation}/messages/{name}?for=everyone"
        status, _ = self.repeat(message.deletions, f"delete {name}", "DELETE", path,
                                again_at=(404,))
        self.run.counts["deletions"] += status == 200

    def share(self):
        """Uploads a file and sends it."""
        self.upload(self.conversation(), self.new("f"), self.new("p"))

    def share_twice(self):
        """Uploads another file than the user's other client does, under one id, and sends it."""
        conversation = sorted(
            name for name, users in self.run.history.participants.items() if self.user in users)[0]
        name = f"{self.person}-{int(self.run.now() / 2)}"
        self.upload(conversation, "both-" + name, "sent-" + name)

    def upload(self, conversation, file, name):
        marker = f"marker-{self.name}-{self.dice.randrange(1 << 60):015x}-"
        size = self.dice.choice(FILE_BYTES)
        data = (marker * (size // len(marker) + 1)).encode()[:size]
        upload = Upload(hashlib.sha256(data).hexdigest(), marker if size > 99 else "")
        self.run.history.files.setdefault(file, []).append(upload)
        status, _ = self.repeat(
            upload.attempts, f"upload {file}, {size} bytes", "PUT",
            f"conversations/{conversation}/blobs/{file}", data=data, again_at=(404,))
        if status != 200:
            return
        self.run.counts["uploads"] += 1
        message = self.run.history.messages.setdefault(
            name, Message(conversation, self.user, f"file {name}", file))
        status, _ = self.repeat(
            message.sends, f"send {name}", "POST", f"conversations/{conversation}/messages",
            {"id": name, "type": "image", "text": message.text, "blob": file}, again_at=(404,))
        if status == 200:
            self.mine.append(name)
            self.run.counts["files sent"] += 1

    def read(self):
        conversation, record = self.conversation(), []
        has_token = not self.uses_socket
        began = self.run.now()
        status, text = self.repeat(record, f"read {conversation}", "GET",
                                   f"conversations/{conversation}/messages?limit=1000")
        if status == 200:
            self.run.note_read(self.name, record[-1], conversation, text, has_token, began)

    def download(self):
        files = [(each.conversation, each.file)
                 for each in list(self.run.history.messages.values())
                 if each.file and self.user in self.run.history.participants[each.conversation]]
        if not files:
            return
        (conversation, file), record = self.dice.choice(files[-30:]), []
        # A file is downloaded over HTTP, whatever the client uses for the rest.
        status, text = self.repeat(record, f"download {file}", "GET",
                                   f"conversations/{conversation}/blobs/{file}", data=b"")
        self.run.note_download(self.name, record[-1], file, text, not self.uses_socket)
        self.run.counts["downloads"] += status == 200

    def leave(self):
        """Signs out and in again."""
        if self.account.sign_ins < SIGN_INS_MAX - 8:
            self.sign_out()
            self.sign_in_again()

    def renew(self, request=None):
        if super().renew(request) == 401:
            self.sign_in_again()

    def add_device(self):
        if not self.has_added_device:
            self.has_added_device = True
            self.register(f"late-{self.name}", self.dice.random() < 0.5)

    def register(self, name, is_browser):
        token = f"token-{name}"
        if is_browser:
            browser = UnreliableBrowser(self.run.service, name)
            browser.told = Told(self.run)
            token = browser.token
        device = self.run.history.devices[name] = Device(self.user)
        self.devices.append(device)
        status, _ = self.repeat(
            device.added, f"add {name}", "PUT", f"devices/{name}", {"token": token})
        self.run.counts["devices"] += status == 200


class AccountClient(Client):
    """A client that does nothing but sign up, in and out, and tries old tokens."""

    def __init__(self, run, number):
        super().__init__(run, f"account{number}", number)
        self.number, self.clients, self.made = number, [], 0

    def step(self):
        if not self.clients or self.dice.random() < 0.05:
            return self.add_account()
        client = self.dice.choice(self.clients[-6:])
        client.node = self.dice.choice(self.run.cluster.nodes)
        actions = {
            client.probe: 30, client.renew: 20, client.log_in_beside: 10, client.sign_out: 5,
            client.sign_out_all: 3, client.change_password: 6, client.use_again: 6,
            client.probe_refresh: 8,
        }
        self.dice.choices(list(actions), list(actions.values()))[0]()

    def add_account(self):
        self.made += 1
        email = f"{self.name}-{self.made}@example.org"
        if self.dice.random() < 0.4:
            # The other program of this kind signs the same address up.
            email = f"race-{int(self.run.now() / 3)}@example.org"
        key = f"{email} {self.name}"
        if key in self.run.history.accounts:
            return
        password = f"password-{self.name}-{self.made}-0"
        account = self.run.account(key, email, password)
        client = AccountDevice(self, account)
        if client.sign_up(account, password):
            self.clients.append(client)


class AccountDevice(Client):
    """One sign-in of an account of an AccountClient."""

    def __init__(self, parent, account):
        parent.made += 1
        super().__init__(parent.run, f"{parent.name}.{parent.made}",
                         parent.number * 1_000 + parent.made)
        self.parent, self.account = parent, account
        self.node = self.dice.choice(self.run.cluster.nodes)

    @property
    def password(self):
        """The password that was set last, as far as the client knows."""
        known = [text for text, tries in self.account.passwords
                 if any(each.outcome == DONE for each in tries)]
        return (known or [self.account.passwords[0][0]])[-1]

    def probe(self):
        """Uses any access token of this sign-in, at any node."""
        number = self.dice.randrange(len(self.tokens["access"]))
        attempt, _ = self.attempt("probe", "GET", "account", bearer=self.tokens["access"][number])
        self.note_access(attempt, number)

    def probe_refresh(self):
        """Uses the refresh token of a sign-in that was ended, which is to be refused."""
        if self.sign_in.ends or self.sign_in.ends_of_all:
            self.use_refresh(self.refresh_number)

    def use_again(self):
        """Uses a refresh token again, as a thief would."""
        if self.refresh_number > 0:
            self.use_refresh(self.dice.randrange(self.refresh_number))

    def use_refresh(self, number, node=None, is_final=False):
        request = f"again{self.dice.randrange(1 << 40)}"
        body = {"refreshToken": self.tokens["refresh"][number], "id": request}
        attempt, _ = self.attempt(
            "renewal again", "POST", "sessions/refresh", body, bearer="", node=node)
        self.sign_in.uses.append(Use("refresh", number, attempt, request, is_final=is_final))
        self.run.counts["second uses"] += 1

    def log_in_beside(self):
        if self.account.sign_ins < SIGN_INS_MAX - TRIES:
            other = AccountDevice(self.parent, self.account)
            if other.log_in(self.account, self.password):
                self.parent.clients.append(other)

    def sign_out_all(self):
        attempt, _ = self.attempt("sign-out of all", "DELETE", "sessions")
        self.account.ends_of_all.append(attempt)
        self.note_access(attempt)
        self.run.counts["sign-outs"] += attempt.outcome == DONE

    def change_password(self):
        if self.account.sign_ins > SIGN_INS_MAX - TRIES:
            return
        self.account.sign_ins += 1
        old, record = self.password, []
        new = f"password-{self.name}-{len(self.account.passwords)}"
        self.account.passwords.append((new, record))
        attempt, text = self.attempt("new password", "PUT", "account/password",
                                     {"password": old, "newPassword": new})
        record.append(attempt)
        self.account.ends_of_all.append(attempt)
        if attempt.status in (200, 401):
            self.note_access(attempt)
        if attempt.status == 200:
            self.run.counts["passwords"] += 1
            self.take(self.account, attempt, text)


# MARK: Faults


class Faults(threading.Thread):
    """Breaks nodes and their connections, and mends them again, until the time is over."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_, self.dice = run, random.Random(run.seed)
        self.calm_since = run.now()
        self.error = None

    def run(self):
        try:
            self.spoil()
        except BaseException:
            self.error = traceback.format_exc()
        finally:
            self.run_.gate.set()

    def spoil(self):
        plan = [["cut"], ["kill"], ["pause"], ["cut", "kill"], ["wipe"], ["deaf"]]
        self.dice.shuffle(plan)
        while plan or self.run_.now() < self.run_.faults_end:
            kinds = plan.pop() if plan else self.dice.choice(
                [["cut"], ["kill"], ["pause"], ["cut", "kill"], ["cut", "pause"], ["deaf"],
                 ["kill", "kill"], ["kill", "kill", "kill"], ["pause", "kill"]])
            time.sleep(self.dice.choice((0.3, 0.8, 4)))
            self.run_.say("faults: " + " ".join(kinds))
            if kinds == ["wipe"]:
                self.wipe()
            else:
                self.spoil_together(kinds)
            until(lambda: all(map(self.run_.cluster.answers, self.run_.cluster.nodes)),
                  "all nodes are ready and connected after the faults", 30)
            self.calm_since = self.run_.now()
        self.end_calm()

    def end_calm(self):
        self.run_.history.calm.append((self.calm_since, self.run_.now()))

    def spoil_together(self, kinds):
        nodes = self.dice.sample(self.run_.cluster.nodes, NODES)
        self.end_calm()
        stopped, killed = [], []
        for kind, node in zip(kinds, nodes if self.dice.random() < 0.7 else nodes[:1] * NODES):
            if kind in ("cut", "deaf"):
                self.run_.counts["cuts"] += 1
                self.cut(node, kind)
            elif kind == "pause" and node not in killed:
                self.run_.counts["pauses"] += 1
                node.signal(signal.SIGSTOP)
                stopped.append(node)
            elif kind == "kill" and node not in killed:
                self.run_.counts["kills"] += 1
                node.kill()
                killed.append(node)
            time.sleep(self.dice.uniform(0, 1))
        time.sleep(self.dice.uniform(0.5, 3))
        for node in stopped:
            if node not in killed:
                node.signal(signal.SIGCONT)
        for node in killed:
            node.start(*self.run_.cluster.nodes)
            time.sleep(self.dice.uniform(0, 0.5))
        for node in self.run_.cluster.nodes:
            node.ask("UNBLOCK *")

    def cut(self, node, kind):
        others = [other for other in self.run_.cluster.nodes if other is not node]
        node.ask(*(f"BLOCK {other.name} {'in' if kind == 'deaf' else 'both'}" for other in others))
        if kind == "cut":
            for other in others:
                other.ask(f"BLOCK {node.name}")

    def wipe(self):
        """Kills a node, and starts it with an empty folder.

        Its disk may have the only copy of what was answered a moment ago. So nobody asks for
        anything from when the nodes have converged until the node is dead."""
        cluster, gate = self.run_.cluster, self.run_.gate
        gate.clear()
        until(lambda: self.run_.open_requests == 0, "all requests are answered", 10)
        until(cluster.has_converged, "the nodes have converged before the wipe", 30)
        node = self.dice.choice(cluster.nodes)
        self.end_calm()
        node.kill()
        shutil.rmtree(node.path)
        gate.set()
        self.run_.counts["wipes"] += 1
        time.sleep(self.dice.uniform(0.2, 2))
        node.start(*cluster.nodes)


# MARK: The run


class Run:
    def __init__(self, binary, seconds, seed):
        self.seconds, self.seed = seconds, seed
        self.history, self.counts = History(), collections.Counter()
        self.dice = random.Random(seed)
        self.tokens, self.users = {}, {}
        self.zero = time.monotonic()
        self.gate, self.counting, self.open_requests = threading.Event(), threading.Lock(), 0
        self.gate.set()
        self.end = float("inf")
        self.failures, self.events = [], []
        self.service = ChaosService(self)
        self.cluster = ChaosCluster(binary, self.service)
        self.history.nodes = [node.name for node in self.cluster.nodes]

    def now(self):
        return time.monotonic() - self.zero

    def is_over(self):
        return self.now() > self.end

    def say(self, text):
        """Notes what happens, for the report of a failure."""
        self.events.append(f"{self.now():9.3f}  {text}")

    def account(self, name, email, password):
        account = self.history.accounts[name] = Account(email, [(password, [])])
        account.ends_of_all, account.sign_ins = [], 0
        return account

    def note_read(self, client, attempt, conversation, text, has_token, began, is_final=False):
        shown = [(each["id"], None if each.get("deletedForEveryone") else each["text"])
                 for each in json.loads(text)["messages"]]
        self.history.reads.append(Read(
            client, attempt.node, began, attempt.ended, conversation, shown, has_token, is_final))

    def note_download(self, client, attempt, file, text, has_token, is_final=False):
        digest = hashlib.sha256(text).hexdigest() if attempt.status == 200 else ""
        self.history.downloads.append(Download(
            client, attempt.node, attempt.began, attempt.ended, file, attempt.status, digest,
            has_token, is_final))

    # MARK: Phases

    def run(self):
        with self.cluster:
            self.prepare()
            self.act()
            self.conclude()
        self.failures += self.service.failures

    def prepare(self):
        """Signs the users up, and adds their devices."""
        self.clients = []
        for number in range(2 * len(USERS)):
            person = USERS[number % len(USERS)]
            email, password = f"{person}@example.org", f"password-{person}"
            if person not in self.history.accounts:
                self.account(person, email, password)
            client = ChatClient(self, person, number, uses_socket=number >= len(USERS))
            if person not in self.users:
                assert client.sign_up(client.account, password), person
                self.users[person] = client.user
                client.register(f"web-{person}", True)
                client.register(f"app-{person}", False)
            else:
                assert client.log_in(client.account, password), person
            self.clients.append(client)
        everyone = list(self.users.values())
        self.clients[0].begin("a-all", everyone[1:])
        self.clients[1].begin("b-two", everyone[2:])
        until(self.cluster.has_converged, "the nodes have converged at the beginning")
        # Each shard is looked at every two seconds for devices.
        time.sleep(2)

    def act(self):
        self.faults_end = self.now() + self.seconds
        faults = Faults(self)
        workers = self.clients + [AccountClient(self, number) for number in (10, 11)]
        threads = [threading.Thread(target=self.work, args=[each], daemon=True)
                   for each in workers]
        for thread in [faults, *threads]:
            thread.start()
        faults.join()
        self.end = 0
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a client does not end"
        assert not faults.error, faults.error

    def work(self, client):
        try:
            while not self.is_over():
                client.step()
                time.sleep(client.dice.uniform(0.03, 0.15))
        except BaseException:
            self.failures.append(traceback.format_exc())

    def conclude(self):
        """Waits until all is as it stays, and asks every node for all that it has."""
        began = self.now()
        until(self.cluster.has_converged, "the nodes have converged", 60)
        self.say("converged")
        self.end = float("inf")
        self.send_and_delete()
        self.wait_for(lambda: not list(every_device_is_told(self.history)), 60)
        self.wait_for(lambda: not list(withdrawals_follow(self.history)), 20)
        self.say("pushes are there")
        self.wait_for(lambda: not self.find_on_disk(), 30)
        self.history.left_on_disk = self.find_on_disk()
        until(self.cluster.has_converged, "the nodes have converged at the end", 60)
        time.sleep(max(0, 3.5 - (self.now() - began)))
        self.history.calm.append((began, self.now()))
        self.read_everything()
        self.say("everything is read")
        self.probe_passwords()
        self.probe_sign_ins()
        self.say("sign-ins are probed")
        self.history.calm.append((began, self.now()))
        self.counts["conflicts"] = sum(
            sum(is_done(each.attempts) for each in uploads) > 1
            for uploads in self.history.files.values())
        for push in self.history.pushes:
            self.counts["pushes hook" if "token" in push.told else "pushes web"] += 1
            self.counts["pushes withdrawn"] += push.told["kind"] == "withdrawn"

    def wait_for(self, condition, seconds):
        """Waits at most so long: where the condition does not come, the checker says so."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.2)

    def send_and_delete(self):
        client = self.clients[0]
        names = [client.send("b-two" if client.user in self.history.participants["b-two"]
                             else "a-all") or client.send(self.roomy(client)) for _ in range(3)]
        self.wait_for(lambda: all(
            (device, name) in {(each.device, each.told["message"]) for each in self.history.pushes}
            for name in names for device in ("web-ben", "app-ben")
            if self.users["ben"] in self.history.participants[
                self.history.messages[name].conversation]), 20)
        time.sleep(0.5)
        for name in names:
            client.delete(name)

    def roomy(self, client):
        """Returns a conversation that has room for messages, and creates one where none has."""
        name = client.new("t")
        client.begin(name, [user for user in self.users.values() if user != client.user])
        return name

    def find_on_disk(self):
        """Returns pairs of a deleted file and a path in which its bytes stand.

        The search has to find a file that was not deleted."""
        wanted, kept = {}, ""
        for message in self.history.messages.values():
            uploads = self.history.files.get(message.file, []) if message.file else []
            for upload in uploads:
                if upload.marker and is_done(message.deletions):
                    wanted[upload.marker.encode()] = message.file
                elif upload.marker and len(uploads) == 1 and is_done(message.sends) \
                        and not message.deletions:
                    kept = message.file
                    wanted_kept = upload.marker.encode()
        if kept:
            wanted[wanted_kept] = kept
        # What Base64 makes of a text that is repeated, wherever it begins.
        needles = {}
        for text, file in wanted.items():
            needles[text] = file
            for start in range(3):
                coded = base64.b64encode(bytes(start) + text)
                needles[coded[4:len(coded) // 4 * 4 - 4]] = file
        found = []
        words = os.path.join(self.cluster.folder, "words")
        with open(words, "wb") as file:
            file.write(b"\n".join(needles) + b"\n")
        grep = subprocess.run(
            ["grep", "-r", "-a", "-o", "-F", "-f", words,
             *(node.path for node in self.cluster.nodes)], stdout=subprocess.PIPE)
        for line in set(grep.stdout.splitlines()):
            path, _, needle = line.partition(b":")
            found.append((needles[needle], os.path.relpath(path.decode(), self.cluster.folder)))
        assert kept in {file for file, _ in found}, "the search finds nothing that is stored"
        return sorted({each for each in found if each[0] != kept})

    def read_everything(self):
        for person in USERS:
            for node in self.cluster.nodes:
                reader = ChatClient(self, person, 20 + self.cluster.nodes.index(node), False)
                reader.name = f"final-{person}-{node.name}"
                reader.node, reader.account.sign_ins = node, 0
                assert reader.log_in(reader.account, reader.password), (person, node.name)
                self.read_all(reader, node)

    def read_all(self, reader, node):
        history = self.history
        for name, users in history.participants.items():
            if reader.user == users[0]:
                reader.session = None
                attempt, text = reader.attempt(
                    f"read {name}", "GET", f"conversations/{name}/messages?limit=1000", node=node)
                if attempt.status == 200:
                    self.note_read(
                        reader.name, attempt, name, text, False, attempt.began, is_final=True)
        for name, message in history.messages.items():
            if reader.user != message.sender or not may_be_done(message.sends):
                continue
            reader.session, path = None, f"conversations/{message.conversation}"
            if message.file:
                attempt, text = reader.attempt(
                    f"download {message.file}", "GET", f"{path}/blobs/{message.file}", node=node)
                self.note_download(reader.name, attempt, message.file, text, False, is_final=True)
            if message.deletions:
                attempt, text = reader.attempt(
                    f"edits of {name}", "GET", f"{path}/messages/{name}/edits", node=node)
                if attempt.status == 200:
                    shown = [(name, each["text"]) for each in json.loads(text)["edits"]]
                    history.reads.append(Read(
                        reader.name, node.name, attempt.began, attempt.ended,
                        message.conversation, shown[-1:], False))

    def probe_passwords(self):
        for account in self.history.accounts.values():
            for node in self.cluster.nodes:
                for password, tries in reversed(account.passwords):
                    if may_be_done(tries):
                        self.probe_password(account, node, password)

    def probe_password(self, account, node, password):
        client = AccountDevice(AccountClient(self, 30), account)
        while True:
            attempt, text = client.attempt(
                "sign-in", "POST", "sessions", {"email": account.email, "password": password},
                bearer="", node=node)
            if attempt.status not in (429, 503):
                break
            time.sleep(0.5)
        user = json.loads(text).get("user", "") if attempt.status == 200 else ""
        account.probes.append((node.name, password, attempt.status, user))

    def probe_sign_ins(self):
        client = AccountDevice(AccountClient(self, 31), None)
        thefts = 0
        for name, sign_in in list(self.history.sign_ins.items()):
            if name.startswith("final-"):
                continue
            client.sign_in, client.tokens = sign_in, self.tokens[name]
            client.refresh_number = len(client.tokens["refresh"]) - 1
            client.refresh = client.tokens["refresh"][-1]
            self.probe_access(client)
            for node in self.cluster.nodes:
                client.node = node
                if client.renew() != 200:
                    break
            else:
                if thefts < 3:
                    thefts += 1
                    client.use_refresh(0, self.cluster.nodes[thefts % NODES])
                    time.sleep(1.6)
                self.probe_access(client)
                continue
            # It has ended, on each node.
            for node in self.cluster.nodes:
                client.use_refresh(client.refresh_number, node, is_final=True)

    def probe_access(self, client):
        for number, bearer in enumerate(client.tokens["access"]):
            for node in self.cluster.nodes:
                attempt, _ = client.attempt("probe", "GET", "account", bearer=bearer, node=node)
                client.note_access(attempt, number, is_final=True)


# What a run must have seen to say anything; two files accepted under one id are a matter of luck.
WANTED = (
    "requests", "acknowledged", "refused", "unanswered", "kills", "cuts", "pauses", "wipes",
    "messages", "edits", "deletions", "uploads", "files sent", "downloads", "sign-ups", "sign-ins",
    "sign-outs", "renewals", "passwords", "second uses", "sockets", "devices", "pushes web",
    "pushes hook", "pushes withdrawn")


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__.splitlines()[2])
    binary = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    print(f"the checker finds each of {check_checker()} defects in made-up histories")
    run, failed = Run(binary, seconds, seed), False
    try:
        run.run()
    except Exception:
        run.failures.append(traceback.format_exc())
    for failure in run.failures:
        failed = True
        print(failure)
    if not failed:
        for finding in findings(run.history):
            failed = True
            print(f"FAILS  {finding.invariant}\n       {finding.subject}: {finding.detail}")
            print("\n".join("         " + line for line in run.history.story(finding.subject)))
        missing = [each for each in WANTED if not run.counts[each]]
        if missing:
            failed = True
            print(f"FAILS  the run saw none of: {', '.join(missing)}")
    if failed:
        print("\n".join(run.events))
    counted = WANTED + ("conflicts",)
    print(f"seed {seed}: " + ", ".join(f"{run.counts[each]} {each}" for each in counted))
    if failed:
        print(f"again: Tests/apps/chaos.py {binary} {seconds:g} {seed}")
        sys.exit(1)


if __name__ == "__main__":
    main()
