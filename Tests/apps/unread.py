"""What long lists cost that clients ask for and never read: usage: unread.py BINARY.

The lists are held by another node than the one that is asked, and one of them by that node itself.
Measured is the peak of each process above what it had before, on the node that collects and on the
one that sends."""

import socket
import sys
import time

from cluster import Cluster, until

MEBIBYTE = 1 << 20
# As for every attack of `grapevine-bench attack`.
ABOVE_IDLE_MAX = 64 * MEBIBYTE
PER_CONNECTION_MAX = 16 << 10
CONNECTIONS = 100
REPETITIONS = 3
SECONDS = 6


class OneReplica(Cluster):
    """A cluster in which each shard has one owner."""

    def is_whole(self, node):
        return sum("state=alive" in line for line in node.ask("MEMBERS")) == len(self.nodes)


def resident(node, what):
    with open(f"/proc/{node.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(what))


def forget_peak(node):
    with open(f"/proc/{node.process.pid}/clear_refs", "w") as refs:
        refs.write("5")


def owner(cluster, partition):
    line = cluster.nodes[0].ask(f"OWNERS {partition}")[0]
    return next(node for node in cluster.nodes if f"={node.name}" in line.replace(",", " "))


def user_of(cluster, node):
    """A user whose own documents the node holds."""
    return next(
        name for name in (f"user{number}" for number in range(100))
        if owner(cluster, name) is node)


def write(node, lines):
    for start in range(0, len(lines), 500):
        replies = node.ask(*lines[start:start + 500])
        assert all(reply.startswith("OK") for reply in replies), replies[:3]


def measure(cluster, what, line):
    """Asks the first node on many connections, none of which is read."""
    before = {}
    for node in cluster.nodes:
        forget_peak(node)
        before[node.name] = resident(node, "VmRSS")
    connections = []
    for _ in range(CONNECTIONS):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", cluster.nodes[0].admin))
        connection.sendall(f"{line}\n".encode() * REPETITIONS)
        connections.append(connection)
    time.sleep(SECONDS)
    # Who reads is answered meanwhile.
    reply = cluster.nodes[0].ask("PING")
    assert reply == ["OK pong"], reply
    holds = True
    for node in cluster.nodes:
        above = resident(node, "VmHWM") - before[node.name]
        allowed = ABOVE_IDLE_MAX + CONNECTIONS * PER_CONNECTION_MAX
        holds = holds and above <= allowed
        print(f"{what}: {node.name} {above / MEBIBYTE:.0f} MiB above idle", flush=True)
    for connection in connections:
        connection.close()
    until(lambda: cluster.nodes[0].ask("PING") == ["OK pong"], "it answers")
    reply = cluster.nodes[0].ask(line)
    assert reply[-1].startswith("OK"), reply[-1][:200]
    print(f"{what}: {sum(map(len, reply)) / MEBIBYTE:.1f} MiB in {len(reply) - 1} lines", flush=True)
    return holds


def main(binary):
    with OneReplica(binary, 2, ["--replicas", "1"]) as cluster:
        here, there = cluster.nodes
        user = user_of(cluster, there)
        title = "x" * 1_000
        write(here, [f"ACTION ADD {user} id=i{number} {title}" for number in range(2_000)])
        write(here, [f"CREATE c{number} {user} title={title}" for number in range(2_000)])
        text = "y" * 16_000
        rooms = (f"room{number}" for number in range(100))
        room = next(name for name in rooms if owner(cluster, name) is there)
        write(here, [f"CREATE {room} {user}"])
        write(here, [f"SEND {room} {user} id=m{number} {text}" for number in range(300)])
        write(here, [f"PIN {room} m{number} {user}" for number in range(300)])
        write(here, [f"EDIT {room} m0 {user} {text}{number}" for number in range(99)])
        own = user_of(cluster, here)
        write(here, [f"ACTION ADD {own} id=o{number} {title}" for number in range(4_000)])
        lists = {
            "actions": f"ACTIONS {user}", "chats": f"CHATS {user}",
            "pins": f"PINNED {room} {user}", "edits": f"EDITS {room} m0 {user}",
            "own actions": f"ACTIONS {own}"}
        kept = [measure(cluster, what, line) for what, line in lists.items()]
        return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
