"""What a user has blocked stays hidden: usage: blocks.py BINARY [NAME…].

On five nodes, three of which store each user's blocks and each conversation, in other places: most
requests have to ask another node whom their user has blocked."""

import contextlib
import shutil
import socket
import sys
import time

from cluster import App, Cluster, down, until
from suite import Suite

suite = Suite()


def ok(node, *lines):
    """Asks the node until it answers each line with OK; returns all replies."""
    replies = []
    for line in lines:
        end = time.monotonic() + 10
        while not (reply := node.ask(line))[-1].startswith("OK"):
            assert reply[-1].startswith("ERR 503") and time.monotonic() < end, (line, reply)
            time.sleep(0.1)
        replies += reply
    return replies


def users(check):
    """Users of one check, whose blocks are in several shards."""
    return [f"{check}-user{number}" for number in range(12)]


def values(key, lines):
    return [word.split("=", 1)[1] for line in lines for word in line.split()
            if word.startswith(key + "=")]


def shown(node, chat, user):
    return values("id", ok(node, f"HISTORY {chat} {user} limit=1000"))


def begin(cluster, chat, user):
    """A conversation in which each of two others has sent a message."""
    node = cluster.nodes[hash(chat) % 5]
    ok(node, f"CREATE {chat} {user},bob,eve", f"SEND {chat} eve id=e1 one",
       f"SEND {chat} bob id=b1 one")
    time.sleep(0.002)


def view(node, chat, user):
    """What the node shows the user: the messages, how many are unread, and the last of the chat."""
    listed = [line for line in ok(node, f"CHATS {user}") if f"id={chat} " in line]
    return (shown(node, chat, user), values("unread", ok(node, f"CHAT {chat} {user}")),
            values("last", listed))


def hides(node, chat, user, messages):
    """Whether all that the node shows the user is of these messages, which are unread."""
    return view(node, chat, user) == (messages, [str(len(messages))], [messages[-1]])


def expect(nodes, chat, user, messages):
    for node in nodes:
        found = view(node, chat, user)
        assert found == (messages, [str(len(messages))], [messages[-1]]), (node.name, user, found)


def converge(cluster):
    """Waits until all owners of each shard store the same."""
    def all_equal():
        lines = [line for node in cluster.nodes for line in node.ask("DIGEST") if "shard=" in line]
        return len({*lines}) == len({*values("shard", lines)}) == 64 and len(lines) == 3 * 64
    until(all_equal, "the owners of each shard store the same")


@contextlib.contextmanager
def cut(cluster, one, other):
    for node in one:
        ok(node, *(f"BLOCK {each.name}" for each in other))
    for node in other:
        ok(node, *(f"BLOCK {each.name}" for each in one))
    try:
        yield
    finally:
        for node in cluster.nodes:
            ok(node, "UNBLOCK *")
        converge(cluster)


@contextlib.contextmanager
def watch(node, user):
    """Yields a function that returns the events of a user that came since its last call."""
    with socket.create_connection(("127.0.0.1", node.admin), timeout=10) as line:
        line.sendall(f"WATCH {user} tokens=off\n".encode())
        text = b""
        while not text.endswith(b"\n"):
            text += line.recv(4096)
        assert text.startswith(b"OK"), text
        line.setblocking(False)

        def events():
            read = b""
            with contextlib.suppress(BlockingIOError):
                while part := line.recv(65_536):
                    read += part
            return read.decode().splitlines()

        yield events


@suite.check
def each_node_hides_what_was_sent_since(cluster):
    for number, user in enumerate(users("each")):
        chat = f"each{number}"
        begin(cluster, chat, user)
        ok(cluster.nodes[number % 5], f"BLOCKUSER {user} eve")
        time.sleep(0.002)
        ok(cluster.nodes[number % 3], f"SEND {chat} eve id=e2 two", f"SEND {chat} bob id=b2 two")
        expect(cluster.nodes, chat, user, ["e1", "b1", "b2"])
        for node in cluster.nodes:
            assert shown(node, chat, "bob") == ["e1", "b1", "e2", "b2"]
            app = App(node, user)
            found = app.get(f"conversations/{chat}/messages").json["messages"]
            assert [message["id"] for message in found] == ["e1", "b1", "b2"]
            assert [each["other"] for each in app.get("blocks").json["blocks"]] == ["eve"]
            refused = App(node, "eve").post(
                "conversations", {"participants": [user]}, status=403)
            assert refused.error == "You cannot add this user", refused.text
            assert node.ask(f"DELIVERED {chat} {user}") == ["OK unread=3"]
        App(cluster.nodes[4], user).delete("blocks/eve")
        for node in cluster.nodes:
            until(lambda: hides(node, chat, user, ["e1", "b1", "e2", "b2"]), "it is shown again")


@suite.check
def watchers_are_not_told_at_any_node(cluster):
    user = "watched"
    begin(cluster, "watch", user)
    with contextlib.ExitStack() as stack:
        heard = [stack.enter_context(watch(node, user)) for node in cluster.nodes]
        for number in range(10):
            ok(cluster.nodes[number % 5], f"BLOCKUSER {user} eve")
            sent = cluster.nodes[(number + 2) % 5]
            # A node may learn of the block after a message that follows it.
            until(lambda: not told_of_eve(sent, heard, f"{number}-{time.monotonic_ns()}"),
                  "silence about eve")
            told = told_of_eve(sent, heard, number)
            assert not told, told
            ok(sent, f"UNBLOCKUSER {user} eve")
            tells_again(cluster.nodes[number % 5], heard, f"u-{number}")


def told_of_eve(node, heard, name):
    """Has eve and bob send, and returns what watchers are told of eve until bob's message."""
    ok(node, f"SEND watch eve id=e-{name} no", "TYPING watch eve on",
       f"SEND watch bob id=b-{name} yes")
    told = []
    for events in heard:
        lines = []
        until(lambda: lines.extend(events()) or f"id=b-{name} " in str(lines), "bob's event")
        time.sleep(0.05)
        told += [line for line in lines + events() if "from=eve" in line or "by=eve" in line]
    return told


def tells_again(node, heard, name):
    """Has eve send until all watchers are told: a node may learn of the unblocking later."""
    waiting = {events: [] for events in heard}

    def are_told():
        ok(node, f"SEND watch eve id={name}-{time.monotonic_ns()} yes")
        time.sleep(0.05)
        for events, told in list(waiting.items()):
            told += events()
            if f"id={name}-" in str(told):
                del waiting[events]
        return not waiting

    until(are_told, "eve's event")


@suite.check
def both_orders_of_a_cut_hide_the_same(cluster):
    one, other = cluster.nodes[:2], cluster.nodes[2:]
    begun = []
    for number, user in enumerate(users("cut")):
        chat = f"cut{number}"
        begin(cluster, chat, user)
        begun.append((chat, user, one, other) if number % 2 else (chat, user, other, one))
    done = []
    with cut(cluster, one, other):
        time.sleep(1.5)
        for chat, user, blocking, sending in begun:
            blocked = blocking[0].ask(f"BLOCKUSER {user} eve")
            time.sleep(0.002)
            sent = sending[1].ask(f"SEND {chat} eve id=e2 two")
            again = sending[0].ask(f"BLOCKUSER {user} eve")
            if blocked[-1].startswith("OK") and sent[-1].startswith("OK"):
                done.append((chat, user, again))
        # Where a node reaches a replica of the conversation it answers, whoever knows the blocks.
        for chat, user, *_ in done:
            for node in cluster.nodes:
                reply = node.ask(f"HISTORY {chat} {user}")
                assert reply[-1].startswith(("OK", "ERR 503 No", "ERR 404")), reply
    assert done, "no shard has owners on both sides"
    for chat, user, _ in done:
        for node in cluster.nodes:
            until(lambda: hides(node, chat, user, ["e1", "b1"]), f"{node.name} hides {chat}")
    print(f"       {len(done)} of {len(begun)} users, {sum('OK' in d[2][-1] for d in done)} blocked twice")


@suite.check
def a_block_wins_over_an_unblocking_that_had_not_seen_it(cluster):
    one, other = cluster.nodes[:2], cluster.nodes[2:]
    for number, user in enumerate(users("wins")):
        begin(cluster, f"wins{number}", user)
        ok(cluster.nodes[0], f"BLOCKUSER {user} eve")
    converge(cluster)
    done = []
    with cut(cluster, one, other):
        time.sleep(1.5)
        for number, user in enumerate(users("wins")):
            replies = (one[0].ask(f"BLOCKUSER {user} eve"), other[0].ask(f"UNBLOCKUSER {user} eve"))
            if all(reply == ["OK"] for reply in replies):
                done.append((f"wins{number}", user))
    for chat, user in done:
        ok(cluster.nodes[3], f"SEND {chat} eve id=e2 two")
        expect(cluster.nodes, chat, user, ["e1", "b1"])
    print(f"       {len(done)} of {12} users")


@suite.check
def it_stays_hidden_while_a_node_is_dead_and_after_its_disk_is_gone(cluster):
    for number, user in enumerate(users("gone")):
        begin(cluster, f"gone{number}", user)
        ok(cluster.nodes[number % 5], f"BLOCKUSER {user} eve")
        time.sleep(0.002)
        ok(cluster.nodes[number % 5], f"SEND gone{number} eve id=e2 two")

    def all_hide(nodes):
        for number, user in enumerate(users("gone")):
            expect(nodes, f"gone{number}", user, ["e1", "b1"])

    for node in cluster.nodes:
        with down(cluster, node):
            all_hide([other for other in cluster.nodes if other is not node])
            shutil.rmtree(f"{cluster.folder}/{node.name}")
        all_hide([node])
        converge(cluster)
        all_hide(cluster.nodes)


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    with Cluster(binary, 5) as cluster:
        failed = suite.run(cluster, names=names)
        converge(cluster)
    sys.exit(1 if failed else 0)


main()
