#!/usr/bin/env python3
"""Has people chat on the example app while nodes and apps are killed and networks fail.

usage: phones.py BINARY EXAMPLE [SECONDS [SEED]]

Two users have three devices, each with the example app in a process of its own. For SECONDS
(default: 20), with SEED (default: the time), they send, edit, delete, retract and pin, and go
offline; apps and nodes are killed and started again, and nodes stand still. A text counts as stored
when its app has shown it. At the end, each app shows what nodes tell, and every stored text was sent
once: it is there, or its message was edited or retracted.
"""

import collections
import http.client
import json
import os
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from accounts import AccountNode
from cluster import Cluster, converge, until

PASSWORD = "walnut-lantern"
LINE = re.compile(r">> (\d+) (\S+): (.*) \((waiting|sent|delivered|read)( pinned)?\)$")
TITLE = "Lunch hour"

# Seconds in which a healed cluster and its apps have to be in sync.
HEALING = 40


class PhoneCluster(Cluster):
    def __init__(self, binary):
        super().__init__(binary, 3)
        self.nodes = [
            AccountNode(self, node.name, (node.gossip, node.admin, node.http))
            for node in self.nodes
        ]


class Phone:
    """The example app in a process, which can be killed and started again in its folder."""

    def __init__(self, example, cluster, folder, name, email):
        self.example, self.cluster, self.name, self.email = example, cluster, name, email
        self.folder = os.path.join(folder, name)
        self.process = None
        self.seen, self.noted = [], 0
        self.is_online = True
        self.start()

    def start(self):
        nodes = [f"http://127.0.0.1:{node.http}" for node in self.cluster.nodes]
        random.shuffle(nodes)
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", self.example, self.folder, *nodes], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines)).start()
        self.is_online = True

    @staticmethod
    def read(output, lines):
        with output:
            for line in output:
                lines.put(line.rstrip("\n"))
        lines.put(None)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.drain()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def drain(self, seconds=0.0):
        """Returns the lines that the app has printed since, and those of the next seconds."""
        drained, end = [], time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.001, end - time.monotonic()))
            except queue.Empty:
                break
            if line is None:
                # Whoever kills the app reads its last lines, too.
                code = self.process.wait()
                assert code in (0, -signal.SIGKILL), (code, self.seen[-20:], drained[-20:])
                break
            drained.append(line)
        self.seen += drained
        return drained

    def ticks(self):
        """Returns the processor time that the app has taken."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])

    def expect(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.drain(0.05):
                if re.search(pattern, line):
                    return line
        raise AssertionError(f"{self.email} shows no {pattern}; the last lines: {self.seen[-20:]}")

    def shown(self):
        """Opens the chat anew, and returns the texts that it shows, with their pins."""
        self.drain()
        self.say("/open 1")
        messages = {}
        for line in self.drain(0.6):
            match = LINE.match(line)
            if match and int(match[1]) == len(messages) + 1:
                messages[int(match[1])] = (match[2], match[3], bool(match[5]), match[4])
        return list(messages.values())


class Talk:
    """What the users do, and what their apps have shown as stored."""

    def __init__(self, phones, random_numbers):
        self.phones, self.random = phones, random_numbers
        self.count = 0
        # The texts that were sent, as far as their apps have shown them.
        self.stored = set()
        self.done = collections.Counter()

    def act(self):
        phone = self.random.choice(self.phones)
        self.note(phone)
        kind = self.random.choices(
            ["send", "burst", "edit", "delete", "retract", "pin", "unpin", "network", "kill"],
            [40, 6, 10, 5, 4, 8, 4, 8, 6])[0]
        self.done[kind] += 1
        getattr(self, kind)(phone)
        self.note(phone)

    def note(self, phone):
        phone.drain()
        for line in phone.seen[phone.noted:]:
            match = LINE.match(line)
            if match and match[3].startswith(f"{phone.name}-"):
                self.stored.add(match[3])
        phone.noted = len(phone.seen)

    def send(self, phone):
        self.count += 1
        phone.say(f"{phone.name}-{self.count}")

    def burst(self, phone):
        for _ in range(10):
            self.send(phone)

    def place(self):
        return self.random.randint(1, max(1, min(len(self.stored), 40)))

    def edit(self, phone):
        self.count += 1
        phone.say(f"/edit {self.place()} edited by {phone.name}-{self.count}")

    def delete(self, phone):
        phone.say(f"/delete {self.place()}")

    def retract(self, phone):
        phone.say(f"/retract {self.place()}")

    def pin(self, phone):
        phone.say(f"/pin {self.place()}")

    def unpin(self, phone):
        phone.say(f"/unpin {self.place()}")

    def network(self, phone):
        phone.is_online = not phone.is_online
        phone.say("/online" if phone.is_online else "/offline")

    def kill(self, phone):
        # What it was doing is at any point, such as within a commit.
        for _ in range(self.random.randint(0, 4)):
            self.send(phone)
        time.sleep(self.random.random() * 0.02)
        phone.kill()
        self.note(phone)
        phone.start()
        phone.expect("## 1 ")
        phone.say("/open 1")


def fail_a_node(cluster, numbers):
    node = numbers.choice(cluster.nodes)
    others = [other for other in cluster.nodes if other is not node]
    if any(other.process.poll() is not None for other in others):
        return
    if numbers.random() < 0.5:
        node.kill()
        time.sleep(0.5)
        node.start(*cluster.nodes)
    else:
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(numbers.random() * 3)
        node.process.send_signal(signal.SIGCONT)


class Reader:
    """A user's sign-in from which nodes are asked for everything that the user has."""

    def __init__(self, node, email):
        self.node = node
        body = {"email": email, "password": PASSWORD}
        tokens = self.ask("POST", "/v1/sessions", body)
        self.user, self.bearer = tokens["user"], tokens["accessToken"]
        self.chat = self.ask("GET", "/v1/chats")["chats"][0]["id"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.node.http, timeout=10)
        headers = {"Authorization": f"Bearer {self.bearer}"} if body is None else {}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status in (200, 201), (path, answer.status, text)
        return json.loads(text)

    def messages(self):
        """Returns all messages, with those that the user does not see."""
        path = f"/v1/conversations/{self.chat}/messages?limit=1000&hidden=true"
        return self.ask("GET", path)["messages"]

    def sees(self, message):
        is_retracted = "deletedForEveryone" in message and message["from"] == self.user
        return "hidden" not in message and not is_retracted


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if "-h" in sys.argv or "--help" in sys.argv else 64
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else int(time.time())
    numbers = random.Random(seed)
    print(f"phones: seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, PhoneCluster(sys.argv[1]) as cluster:
        phones = []
        try:
            return chat(cluster, phones, folder, seconds, numbers)
        except Exception:
            print(f"again: Tests/apps/phones.py BINARY EXAMPLE {seconds} {seed}", flush=True)
            raise
        finally:
            for phone in phones:
                phone.process.kill()


def chat(cluster, phones, folder, seconds, numbers):
    example = sys.argv[2]

    def phone(name, email):
        made = Phone(example, cluster, folder, name, email)
        phones.append(made)
        made.expect("-- ")
        return made

    alice, bob = phone("alice", "alice@example.org"), phone("bob", "bob@example.org")
    for each in (alice, bob):
        each.say(f"/signup {each.email} {PASSWORD}")
        each.expect("-- online")
    alice.say(f"/new bob@example.org {TITLE}")
    alice.expect("## 1 " + TITLE)
    bob.expect("## 1 " + TITLE)
    tablet = phone("tablet", "alice@example.org")
    tablet.say(f"/signin {tablet.email} {PASSWORD}")
    tablet.expect("## 1 " + TITLE)
    for each in (bob, tablet):
        each.say("/open 1")
    talk = Talk([alice, bob, tablet], numbers)
    end = time.monotonic() + seconds
    failing = threading.Thread(target=lambda: [
        fail_a_node(cluster, numbers) or time.sleep(1)
        for _ in iter(lambda: time.monotonic() < end, False)])
    failing.start()
    while time.monotonic() < end:
        talk.act()
        time.sleep(numbers.random() * 0.1)
    failing.join()
    for each in phones:
        talk.note(each)
        each.say("/online")
    converge(cluster)
    print(f"phones: {len(talk.stored)} texts stored; {dict(talk.done)}", flush=True)
    compare(cluster, talk, phones)
    rest(phones)
    return 0


def rest(phones):
    """An app in which nothing happens takes next to nothing."""
    before = [phone.ticks() for phone in phones]
    time.sleep(2)
    for phone, ticks in zip(phones, before):
        share = (phone.ticks() - ticks) / os.sysconf("SC_CLK_TCK") / 2
        assert share < 0.5, f"{phone.name} takes {share:.0%} of a processor at rest"


def compare(cluster, talk, phones):
    """Compares what the apps show with what nodes tell, and with what was stored."""
    end = time.monotonic() + HEALING
    readers = [Reader(cluster.nodes[0], phone.email) for phone in phones]
    while True:
        shown = [[each[:3] for each in phone.shown()] for phone in phones]
        told = [reader.messages() for reader in readers]
        wanted = [
            [(each["from"], each["text"], "pinnedBy" in each)
             for each in messages if reader.sees(each)]
            for reader, messages in zip(readers, told)]
        if shown == wanted or time.monotonic() > end:
            break
        time.sleep(0.5)
    for phone, mine, theirs in zip(phones, shown, wanted):
        differing = [pair for pair in zip(mine, theirs) if pair[0] != pair[1]][:3]
        assert mine == theirs, (
            f"{phone.name} shows {len(mine)} messages, nodes {len(theirs)}: {differing}")
    messages = {each["id"]: each for each in told[0] + told[1]}.values()
    texts = collections.Counter(each["text"] for each in messages)
    repeated = [text for text in talk.stored if texts[text] > 1]
    assert not repeated, f"sent twice: {repeated}"
    missing = [text for text in talk.stored if text not in texts]
    changed = [each for each in messages if "edited" in each or "deletedForEveryone" in each]
    assert len(missing) <= len(changed), f"{len(changed)} were changed, but missing: {missing}"
    print(f"phones: all apps show what nodes tell; {len(messages)} messages, "
          f"{len(changed)} edited or retracted", flush=True)


if __name__ == "__main__":
    sys.exit(main())
