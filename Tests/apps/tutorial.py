#!/usr/bin/env python3
"""Executes every block of cluster/API.md, in order, on a cluster of its own.

usage: tutorial.py BINARY

A block that begins with ```sh is executed by one shell (`sh -e`, in the root of the repository). It
fails where a command fails, and where its output is not what the ```text block behind it shows. A
```python block is written to the file that the page names last before it. The page's ports and
/tmp are replaced by free ports and a folder of this run, so a running cluster is not disturbed.
"""

import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGE = os.path.join(ROOT, "cluster", "API.md")
BLOCK_SECONDS_MAX = 60

# The ports of the page, as cluster/lib.sh numbers them: this plus K for gossip, 100 more for the
# line protocol, 200 more for apps, 300 more for probes.
PAGE_PORTS = 7100
OFFSETS = [hundreds + number for hundreds in (0, 100, 200, 300) for number in (1, 2, 3)]

# What differs from run to run, in the page and in the output, and what both are compared as:
# process ids, durations, times, replicas at the moment of an answer, and long random texts such as
# tokens, users and UUIDs. Besides, `…` in the page stands for any text within a line, and for any
# lines where it is a line of its own.
PLACEHOLDERS = [
    (r"\bpid \d+", "pid <n>"),
    (r"\b\d+\.\d+ s\b", "<n> s"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{6})?Z", "<time>"),
    (r'"replicas":[123],', '"replicas":<n>,'),
    (r"[A-Za-z0-9_-]{16,}(\.[A-Za-z0-9_-]{16,})*", "<random>"),
]


class Mismatch(Exception):
    """A block that does not do what the page says."""


class Block:
    """A fenced block of the page."""

    def __init__(self, kind, line, text, before):
        self.kind, self.line, self.text = kind, line, text
        # The prose between this block and the one before it.
        self.before = before


def read_blocks():
    blocks, kind, text, before = [], None, [], []
    with open(PAGE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("```"):
                (before if kind is None else text).append(line)
            elif kind is None:
                kind, start = line[3:].strip(), number
                assert kind in ("sh", "text", "python"), f"API.md:{number}: a block of {kind!r}"
            else:
                blocks.append(Block(kind, start, "".join(text), "".join(before)))
                kind, text, before = None, [], []
    assert kind is None, "API.md: a block has no end"
    return blocks


def free_base():
    """Returns a number so that all ports of three nodes that are counted from it are free."""
    for base in range(20_000 + os.getpid() % 1_000 * 10, 60_000, 400):
        try:
            sockets = [socket.create_server(("127.0.0.1", base + offset)) for offset in OFFSETS]
        except OSError:
            continue
        for each in sockets:
            each.close()
        return base
    raise Mismatch("no free ports")


class Shell:
    """The one shell that executes the page."""

    def __init__(self, work, base, binary):
        self.work, self.base = work, base
        environment = os.environ | {
            "GRAPEVINE_BIN": binary, "GRAPEVINE_STATE": os.path.join(work, "nodes"),
            "GRAPEVINE_PORTS": str(base),
        }
        environment.pop("GRAPEVINE_NODE_OPTIONS", None)
        environment.pop("GRAPEVINE_KEY_FILE", None)
        self.process = subprocess.Popen(
            ["sh", "-e"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=ROOT, env=environment)
        self.output = selectors.DefaultSelector()
        self.output.register(self.process.stdout, selectors.EVENT_READ)

    def local(self, text):
        """Replaces the ports and the folder of the page by those of this run."""
        for offset in OFFSETS:
            text = re.sub(rf"\b{PAGE_PORTS + offset}\b", str(self.base + offset), text)
        return text.replace("/tmp/", self.work + "/")

    def run(self, block):
        """Executes a block; returns what it prints."""
        path = os.path.join(self.work, f"block-{block.line}.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.local(block.text))
        # No command of the block reads what the shell is told.
        self.process.stdin.write(f". {path} </dev/null; printf '\\0'\n".encode())
        self.process.stdin.flush()
        end, printed = time.monotonic() + BLOCK_SECONDS_MAX, b""
        while not printed.endswith(b"\0"):
            if not self.output.select(max(0, end - time.monotonic())):
                raise Mismatch(f"not done after {BLOCK_SECONDS_MAX} s; so far:\n{show(printed)}")
            data = os.read(self.process.stdout.fileno(), 65_536)
            if not data:
                status = self.process.wait()
                raise Mismatch(f"exit status {status}, after the output:\n{show(printed)}")
            printed += data
        return show(printed[:-1])

    def end(self):
        self.process.kill()
        self.process.wait()
        subprocess.run(
            ["cluster/down", "--wipe"], cwd=ROOT, stdout=subprocess.DEVNULL,
            env=os.environ | {
                "GRAPEVINE_STATE": os.path.join(self.work, "nodes"),
                "GRAPEVINE_PORTS": str(self.base),
            })


def show(data):
    return data.decode(errors="replace")


def comparable(text):
    for pattern, placeholder in PLACEHOLDERS:
        text = re.sub(pattern, placeholder, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def expression(text):
    """Returns a regular expression for what a block of text shows."""
    lines = []
    for line in comparable(text).split("\n"):
        if line == "…":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*?".join(re.escape(part) for part in line.split("…")) + r"\n")
    return "".join(lines)


def compare(block, output, shell):
    """Compares what a block printed with the block of text behind it."""
    wanted = expression(shell.local(block.text))
    if not re.fullmatch(wanted, comparable(output) + "\n"):
        raise Mismatch(
            f"API.md:{block.line} shows:\n{comparable(shell.local(block.text))}\n\n"
            f"and the output is:\n{comparable(output)}")


def execute(blocks, shell):
    output = None
    for block in blocks:
        began = time.monotonic()
        try:
            if block.kind == "sh":
                output = shell.run(block)
            elif block.kind == "text":
                if output is None:
                    raise Mismatch("a block of text has no block of commands before it")
                compare(block, output, shell)
                output = None
            else:
                names = re.findall(r"`(/tmp/[a-z.]+)`", block.before)
                if not names:
                    raise Mismatch("the page does not say where the script is to be saved")
                with open(shell.local(names[-1]), "w", encoding="utf-8") as file:
                    file.write(shell.local(block.text))
                output = None
        except Mismatch as mismatch:
            raise Mismatch(f"API.md:{block.line} ({block.kind}): {mismatch}") from None
        if block.kind == "sh":
            first = block.text.splitlines()[0]
            print(f"holds  {block.line}: {first}  ({time.monotonic() - began:.1f} s)", flush=True)


def main():
    binary = os.path.realpath(sys.argv[1])
    blocks = read_blocks()
    work = tempfile.mkdtemp(prefix="grapevine-tutorial-")
    shell = Shell(work, free_base(), binary)
    try:
        execute(blocks, shell)
    except Mismatch as mismatch:
        print(f"FAILS  {mismatch}", file=sys.stderr)
        sys.exit(1)
    finally:
        shell.end()
        shutil.rmtree(work)
    print(f"{len(blocks)} blocks of cluster/API.md do what the page says")


if __name__ == "__main__":
    main()
