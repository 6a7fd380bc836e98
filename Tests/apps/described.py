#!/usr/bin/env python3
"""Checks the description of the API, and a node against it by requests made at random.

usage: described.py BINARY TOOLS SECONDS SEED    TOOLS: the folder of schemathesis and the validator
"""

import datetime
import os
import subprocess
import sys

from cluster import App, Cluster

# A message deleted for oneself is still there for others, and a deleted item stays deleted: what
# these two expect of any API does not hold of this one.
NOT_CHECKED = "use_after_free,ensure_resource_availability"

# before= and after= exclude each other, which a description cannot say of a query; whether a file
# has a range depends on its length; three requests need a WebSocket; with an operation, an action
# item needs an id.
SETTINGS = "".join(f"""
[[operations]]
include-operation-id = "{operation}"
[operations.checks.positive_data_acceptance]
enabled = false
""" for operation in ("listMessages", "downloadFile", "setTyping", "unwatchEvents", "openSocket",
                       "addItem"))


def operation():
    """An operation of the present time, which the requests have that take one."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return f"""
[parameters]
"header.Grapevine-Operation" = "random.1.{now:%Y-%m-%dT%H:%M:%S}.000000000Z"
"""


def main():
    binary, tools, seconds, seed = sys.argv[1:]
    with Cluster(binary, 1) as cluster:
        node = cluster.nodes[0]
        alice = App(node, "alice")
        described = os.path.join(cluster.folder, "openapi.json")
        with open(described, "wb") as file:
            file.write(alice.get("openapi.json").text)
        subprocess.run(
            [os.path.join(tools, "openapi-spec-validator"), described], check=True)
        settings = os.path.join(cluster.folder, "schemathesis.toml")
        with open(settings, "w") as file:
            file.write(operation() + SETTINGS)
        session = alice.get("token").json["token"]
        result = subprocess.run(
            [os.path.join(tools, "schemathesis"), "--config-file", settings, "run", described,
             "--url", f"http://127.0.0.1:{node.http}", "--seed", seed, "--max-time", seconds,
             "-H", f"Authorization: Bearer {alice.bearer}", "-H", f"Grapevine-Token: {session}",
             "--exclude-path", "/v1/events", "--exclude-checks", NOT_CHECKED,
             "--continue-on-failure", "--no-color"], cwd=cluster.folder)
        assert node.ask("PING") == ["OK pong"], "the node answers no more"
    sys.exit(result.returncode)


main()
