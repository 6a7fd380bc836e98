"""Nodes on this machine with a port for apps, and the clients of the checks beside."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

import jwt

SECRET = b"0123456789abcdef0123456789abcdef"
KEYS = '{"keys":[{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}'


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Node:
    """One process, which can be killed and started again."""

    def __init__(self, cluster, name, ports):
        self.cluster, self.name = cluster, name
        self.gossip, self.admin, self.http = ports
        self.process = None

    def sign_in_options(self):
        return [
            "--jwt-key", self.cluster.keys, "--users", "--origin", "https://chat.example.org"]

    def start(self, *others):
        command = [self.cluster.binary, "node", "--name", self.name, "--faults"]
        command += ["--data", os.path.join(self.cluster.folder, self.name)]
        command += ["--gossip", f"127.0.0.1:{self.gossip}", "--admin", f"127.0.0.1:{self.admin}"]
        command += ["--http", f"127.0.0.1:{self.http}", *self.sign_in_options()]
        if "--user-rate" not in self.cluster.options:
            command += ["--user-rate", "0", "--address-rate", "0"]
        command += self.cluster.options
        joined = [f"127.0.0.1:{other.gossip}" for other in others if other is not self]
        if joined:
            command += ["--join", ",".join(joined)]
        self.log = open(os.path.join(self.cluster.folder, self.name + ".log"), "ab")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode()
        assert line.startswith(f"ready name={self.name} "), line
        assert f" http=127.0.0.1:{self.http}" in line, line

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Stops the node in order."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=10) == 0

    def ask(self, *lines):
        """Asks the line protocol; returns the lines of all replies."""
        with socket.create_connection(("127.0.0.1", self.admin), timeout=60) as line:
            line.sendall("".join(each + "\n" for each in lines).encode())
            line.shutdown(socket.SHUT_WR)
            return line.makefile(encoding="utf-8").read().splitlines()


class Cluster:
    def __init__(self, binary, count, options=()):
        self.binary, self.options = binary, list(options)
        self.folder = tempfile.mkdtemp(prefix="grapevine-apps-")
        self.keys = os.path.join(self.folder, "keys.json")
        with open(os.open(self.keys, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(KEYS)
        ports = free_ports(3 * count)
        self.nodes = [
            Node(self, f"n{number + 1}", ports[3 * number:3 * number + 3])
            for number in range(count)
        ]

    def __enter__(self):
        for number, node in enumerate(self.nodes):
            node.start(*self.nodes[:number])
        for node in self.nodes:
            until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready")
            until(lambda: self.is_whole(node), f"{node.name} sees all")
        return self

    def is_whole(self, node):
        alive = [line for line in node.ask("MEMBERS") if "state=alive" in line]
        shards = node.ask("SHARDS")
        owners = min(3, len(self.nodes))
        return len(alive) == len(self.nodes) and all(
            len(line.split("owners=")[1].split()[0].split(",")) == owners
            for line in shards if line.startswith("SHARD"))

    def __exit__(self, *_):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.process.kill()
                node.process.wait()
        subprocess.run(["rm", "-rf", self.folder], check=True)


def until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def converge(cluster):
    until(lambda: len({str(node.ask("DIGEST")) for node in cluster.nodes}) == 1,
          "the nodes store the same")


@contextlib.contextmanager
def down(cluster, node):
    """Kills a node, and starts it again at the end."""
    node.kill()
    try:
        yield
    finally:
        node.start(*cluster.nodes)
        until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready again")


@contextlib.contextmanager
def cut_off(cluster, node):
    """Cuts a node off from both others, and heals the cut at the end."""
    others = [other for other in cluster.nodes if other is not node]
    assert set(node.ask(*(f"BLOCK {other.name}" for other in others))) == {"OK"}
    for other in others:
        assert other.ask(f"BLOCK {node.name}") == ["OK"]
    try:
        yield
    finally:
        for each in cluster.nodes:
            each.ask("UNBLOCK *")
        converge(cluster)


def token(user, **claims):
    return jwt.encode({"sub": user, "exp": int(time.time()) + 3600} | claims, SECRET, "HS256")


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read()
        self.token = response.getheader("Grapevine-Token")
        packed = response.getheader("Content-Encoding") is not None
        self.json = json.loads(self.text) if self.text and not packed else None

    @property
    def error(self):
        return self.json["error"]["message"]


class App:
    """A user's client of one node, which carries its session token along."""

    def __init__(self, node, user):
        self.node, self.user = node, user
        self.bearer = token(user)
        self.session = None
        self.connection = http.client.HTTPConnection("127.0.0.1", node.http, timeout=60)

    def request(self, method, path, body=None, headers=None, status=200):
        fields = {"Authorization": "Bearer " + self.bearer} if self.bearer else {}
        if self.session:
            fields["Grapevine-Token"] = self.session
        data = json.dumps(body) if body is not None else None
        self.connection.request(method, "/v1/" + path, data, fields | (headers or {}))
        answer = Answer(self.connection.getresponse())
        wanted = status if isinstance(status, tuple) else (status,)
        assert answer.status in wanted, (method, path, answer.status, answer.text)
        self.session = answer.token or self.session
        return answer

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def put(self, path, body=None, **more):
        return self.request("PUT", path, body, **more)

    def patch(self, path, body=None, **more):
        return self.request("PATCH", path, body, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)
