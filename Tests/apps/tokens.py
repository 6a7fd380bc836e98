"""A client that carries its token keeps being answered, whichever node dies.

usage: tokens.py BINARY [RUNS [SENDS [RESTARTS]]]
"""

import http.client
import itertools
import sys
import threading
import time

from cluster import App, Cluster, until
from suite import Suite

GAP_MAX = 2.0
CONVERSATIONS = 150
# The most shards of a cluster, and conversations that nearly all of them have one of.
SHARDS_MAX, CONVERSATIONS_OF_ALL = 256, 900
# The seconds within which nodes store what they know of all shards.
STORED = 8
suite = Suite()


class Load:
    """Sends of other users to all conversations, at a steady rate, to nodes that live."""

    def __init__(self, cluster, rate, conversations=CONVERSATIONS):
        self.cluster, self.rate, self.conversations = cluster, rate, conversations
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def run(self):
        apps = {}
        for number in itertools.count():
            if self.ends.wait(1 / self.rate):
                return
            node = self.cluster.nodes[number % len(self.cluster.nodes)]
            try:
                app = apps.setdefault(node, App(node, "bob"))
                app.session = None
                app.post(f"conversations/c{number % self.conversations}/messages",
                         {"text": f"text {number}"}, status=(200, 503))
            except (OSError, http.client.HTTPException):
                apps.pop(node, None)


class Carrier:
    """A client that reads its lists and sends, and moves with its token to the next node."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.place = 0
        self.session = None
        self.app = None
        self.gap, self.why = 0.0, ""
        self.count = self.refused = 0

    def step(self):
        """Makes one request; returns whether it was answered with 200."""
        node = self.cluster.nodes[self.place % len(self.cluster.nodes)]
        try:
            if self.app is None:
                self.app = App(node, "alice")
                self.app.session = self.session
            number = self.count
            if number % 2:
                answer = self.app.post(f"conversations/c{number % CONVERSATIONS}/messages",
                                       {"text": f"mine {number}"}, status=(200, 503))
            else:
                answer = self.app.get("chats", status=(200, 503))
            self.session = self.app.session
            if answer.status == 200:
                self.count += 1
                return True
            self.refused += 1
            self.why = answer.error
        except (OSError, http.client.HTTPException) as error:
            self.why = repr(error)
        self.app = None
        self.place += 1
        time.sleep(0.02)
        return False

    def run(self, seconds):
        """Goes on for so long, and notes the longest time without an answer."""
        end = last = time.monotonic()
        end += seconds
        while time.monotonic() < end:
            if self.step():
                last = time.monotonic()
            elif time.monotonic() - last > self.gap:
                self.gap, self.reason = time.monotonic() - last, self.why


def fill(cluster, conversations=CONVERSATIONS):
    app = App(cluster.nodes[0], "alice")
    for number in range(conversations):
        app.post("conversations", {"id": f"c{number}", "participants": ["bob"]})


def restart(cluster, node):
    node.kill()
    node.start(*cluster.nodes)
    until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready again")


def lose_each_node(binary, rate, restarts, shards=64, conversations=CONVERSATIONS):
    with Cluster(binary, 3, ["--shards", str(shards)]) as cluster:
        fill(cluster, conversations)
        with Load(cluster, rate, conversations):
            for _ in range(restarts):
                for node in cluster.nodes:
                    restart(cluster, node)
            for node in cluster.nodes:
                carrier = Carrier(cluster)
                carrier.place = cluster.nodes.index(node)
                carrier.run(1.5)
                assert carrier.count > 0, f"no answer before the death of {node.name}"
                node.kill()
                carrier.run(5)
                node.start(*cluster.nodes)
                until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready again")
                print(f"  {shards} shards, {rate} sends a second, {restarts} restarts, "
                      f"{node.name} dies: "
                      f"{carrier.count} answers, {carrier.refused} of 503, "
                      f"token of {len(carrier.session)} bytes, longest gap {carrier.gap:.2f} s",
                      flush=True)
                assert carrier.gap < GAP_MAX, f"{carrier.gap:.1f} s without an answer: {carrier.why}"


def lose_all_nodes(binary, restarts):
    """Kills all nodes at once, and leaves one of them dead."""
    with Cluster(binary, 3) as cluster:
        fill(cluster)
        carrier = Carrier(cluster)
        with Load(cluster, rate=100):
            for _ in range(restarts):
                for node in cluster.nodes:
                    restart(cluster, node)
            # Until the nodes have stored by which names tokens call what is old.
            time.sleep(STORED)
            carrier.run(1)
            for node in cluster.nodes:
                node.kill()
        for node in cluster.nodes[1:]:
            node.start(*cluster.nodes)
        for node in cluster.nodes[1:]:
            until(lambda: node.ask("READY") == ["OK"], f"{node.name} is ready again")
        carrier.app = None
        carrier.refused = 0
        carrier.place = 1
        carrier.run(3)
        print(f"  all die after {restarts} restarts, two return: {carrier.refused} of 503, "
              f"token of {len(carrier.session)} bytes, longest gap {carrier.gap:.2f} s", flush=True)
        assert carrier.gap < GAP_MAX, f"{carrier.gap:.1f} s without an answer: {carrier.why}"


@suite.check
def a_token_is_good_where_two_of_three_nodes_return(binary):
    lose_all_nodes(binary, restarts=8)


@suite.check
def a_token_of_all_shards_is_good_while_a_node_is_dead(binary):
    lose_each_node(binary, 20, 0, SHARDS_MAX, CONVERSATIONS_OF_ALL)


@suite.check
def a_token_of_an_old_cluster_is_good_while_a_node_is_dead(binary):
    lose_each_node(binary, rate=100, restarts=4)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        runs, rate, restarts = (int(each) for each in (sys.argv[2:] + ["20", "0"])[:3])
        for _ in range(runs):
            lose_each_node(sys.argv[1], rate, restarts)
        sys.exit(0)
    sys.exit(suite.run(sys.argv[1]))
