"""What idle nodes send each other, with accounts, sign-outs and restarts behind them.

usage: idle.py BINARY [ACCOUNTS [SIGNOUTS [RESTARTS]]]

Without numbers it takes a few of each, for a few seconds. Measured is what each of three nodes says
that it has sent to each other (METRICS): the promise is one of two nodes, both ways together.
"""

import concurrent.futures
import http.client
import itertools
import os
import re
import sys
import time

import jwt

from accounts import AccountCluster, base64url, email_digest
from cluster import converge, until
from suite import Suite

PAIR_MAX = 200
ACCOUNTS, SIGNOUTS, RESTARTS, SECONDS = 200, 100, 2, 5
LARGE_SECONDS = 20
# After the last change; what is under way then has arrived.
QUIET_SECONDS = 2
# How long a node keeps a revocation, and how many KEYS lists.
REVOKED_SECONDS, REVOKED_LISTED = 600, 2_048
# The lines of a connection, and the clients that sign out at a time.
LINES, CLIENTS = 500, 4
# Enough users for each shard to have one: each life of a node leaves its mark in all shards.
PROFILES = 256
HASH = "$argon2id$v=19$m=19456,t=2,p=1$" + "s" * 22 + "$" + "h" * 43
suite = Suite()


# MARK: What is behind them


class SignIn:
    """A sign-in that an operator has added, with an access token as a node issues it."""

    def __init__(self, number):
        self.user, self.name = f"user{number}", f"s{number}"
        self.email = f"{self.user}@example.org"
        self.address = email_digest(self.email)

    def account_line(self):
        return f"ACCOUNT ADD {self.address} {self.user} email={self.email} password={HASH}"

    def line(self):
        digest = base64url(os.urandom(32))
        return f"SIGNIN ADD {self.address} {self.user} {self.name} secret={digest}"

    def token(self, key):
        now = int(time.time())
        claims = {"sub": self.user, "iat": now, "exp": now + 600, "sid": self.name,
                  "adr": self.address, "at": self.stamp}
        return jwt.encode(claims, key, "HS256", headers={"kid": "idle"})


def write(node, lines):
    """Sends lines with one line of reply each, in pipelines."""
    replies = []
    for start in range(0, len(lines), LINES):
        part = lines[start:start + LINES]
        got = node.ask(*part)
        assert len(got) == len(part), got[-1]
        replies += got
    bad = [reply for reply in replies if not reply.startswith("OK")]
    assert not bad, bad[:3]
    return replies


def sign_up(cluster, count):
    """Adds accounts with a sign-in each, at all nodes in turn."""
    sign_ins = [SignIn(number) for number in range(count)]
    for place, node in enumerate(cluster.nodes):
        mine = sign_ins[place::len(cluster.nodes)]
        write(node, [each.account_line() for each in mine])
        for each, reply in zip(mine, write(node, [each.line() for each in mine])):
            each.stamp = int(re.search(r"stamp=(\d+)", reply)[1])
    return sign_ins


def sign_out(cluster, sign_ins):
    """Signs out over HTTP, at all nodes in turn."""
    key = os.urandom(32)
    write(cluster.nodes[0], [f"KEY ADD idle secret={base64url(key)}"])
    converge(cluster)
    time.sleep(1)

    def go(client):
        for each, node in itertools.islice(
                zip(sign_ins, itertools.cycle(cluster.nodes)), client, None, CLIENTS):
            connection = http.client.HTTPConnection("127.0.0.1", node.http, timeout=10)
            fields = {"Authorization": "Bearer " + each.token(key)}
            connection.request("DELETE", "/v1/sessions/current", None, fields)
            answer = connection.getresponse()
            assert answer.status == 200, (answer.status, answer.read())
            connection.close()

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(go, range(CLIENTS)))


def restart(cluster, node, life):
    """Kills a node and starts it; returns the seconds until it is ready."""
    node.kill()
    began = time.monotonic()
    node.start(*cluster.nodes)
    until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready again")
    seconds = time.monotonic() - began
    until(lambda: cluster.is_whole(node), f"{node.name} sees all again")
    write(node, [f"PROFILE user{user} name={node.name}-{life}" for user in range(PROFILES)])
    return seconds


def check_behind(cluster, signouts, restarts):
    """Each node knows of all revocations and lives of nodes: else nothing would be measured."""
    for node in cluster.nodes:
        known = sum(line.startswith("REVOKED ") for line in node.ask("KEYS"))
        assert known == min(signouts, REVOKED_LISTED), f"{node.name} has {known} of {signouts}"
        lives = sum(line.startswith("VECTOR ") for line in node.ask("VECTOR 0"))
        assert lives >= restarts * len(cluster.nodes), f"{node.name} knows {lives} lives"


# MARK: Measuring


def sent(node):
    """The bytes that a node has sent to each other node."""
    lines = "\n".join(node.ask("METRICS"))
    found = re.findall(r'^grapevine_peer_sent_bytes_total\{peer="(\w+)"\} (\d+)$', lines, re.M)
    return {(node.name, peer): int(count) for peer, count in found}


def resident(node):
    with open(f"/proc/{node.process.pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def converged(node):
    return any("converged=true" in line for line in node.ask("STATUS"))


def measure(cluster, what, seconds):
    """Returns the bytes a second of each pair of nodes, both ways together."""
    converge(cluster)
    for node in cluster.nodes:
        until(lambda: converged(node), f"{node.name} is converged")
    time.sleep(QUIET_SECONDS)
    before, began = [sent(node) for node in cluster.nodes], time.monotonic()
    time.sleep(seconds)
    after, took = [sent(node) for node in cluster.nodes], time.monotonic() - began
    ways = {way: (new[way] - old[way]) / took
            for old, new in zip(before, after, strict=True) for way in new}
    names = [node.name for node in cluster.nodes]
    assert len(ways) == len(names) * (len(names) - 1), ways
    pairs = {pair: ways[pair] + ways[pair[::-1]] for pair in itertools.combinations(names, 2)}
    memory = " ".join(f"{resident(node):.0f}" for node in cluster.nodes)
    print(f"  {what}, {took:.0f} s: "
          + ", ".join(f"{one}-{other} {rate:.0f}" for (one, other), rate in pairs.items())
          + " bytes a second and pair ("
          + ", ".join(f"{one}>{other} {rate:.0f}" for (one, other), rate in ways.items())
          + f"); {memory} MiB", flush=True)
    return pairs


def complaints(cluster):
    """The lines of the nodes' logs that tell of trouble beyond the restarts."""
    lines = []
    for node in cluster.nodes:
        with open(os.path.join(cluster.folder, node.name + ".log"), errors="replace") as log:
            lines += [f"{node.name} {line.rstrip()}" for line in log
                      if re.search(r"\b(error|fatal)\b|Fatal", line)]
    return lines


def run(binary, accounts, signouts, restarts, seconds):
    assert signouts <= accounts, "each account has one sign-in"
    cluster = AccountCluster(binary)
    cluster.options = []
    with cluster:
        measure(cluster, "an empty cluster", seconds)
        began = time.monotonic()
        sign_ins = sign_up(cluster, accounts)
        signing_out = time.monotonic()
        sign_out(cluster, sign_ins[:signouts])
        signed_out = time.monotonic()
        ready = [restart(cluster, node, life)
                 for life in range(restarts) for node in cluster.nodes]
        print(f"  {accounts} accounts in {signing_out - began:.0f} s, {signouts} sign-outs in "
              f"{signed_out - signing_out:.0f} s, {restarts} restarts of each node in "
              f"{time.monotonic() - signed_out:.0f} s, ready after {min(ready):.2f} to "
              f"{max(ready):.2f} s, the last after {ready[-1]:.2f} s", flush=True)
        pairs = measure(cluster, "with all that behind it", seconds)
        assert time.monotonic() - signing_out < REVOKED_SECONDS, "revocations have ended meanwhile"
        check_behind(cluster, signouts, restarts)
        for line in complaints(cluster)[:10]:
            print(f"  {line}", flush=True)
        assert max(pairs.values()) <= PAIR_MAX, f"more than {PAIR_MAX} bytes a second: {pairs}"


@suite.check
def idle_nodes_send_little_whatever_is_behind_them(binary):
    run(binary, ACCOUNTS, SIGNOUTS, RESTARTS, SECONDS)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sizes = [int(each) for each in sys.argv[2:]]
        sizes += [ACCOUNTS, SIGNOUTS, RESTARTS][len(sizes):]
        run(sys.argv[1], *sizes[:3], LARGE_SECONDS)
        sys.exit(0)
    sys.exit(suite.run(sys.argv[1]))
