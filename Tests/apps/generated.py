#!/usr/bin/env python3
"""Calls every operation of the API by a client that is generated from its description.

usage: generated.py BINARY TOOLS    TOOLS: the folder of openapi-python-client
"""

import importlib
import io
import os
import pkgutil
import subprocess
import sys
import tempfile
import urllib.request
import uuid

from cluster import Cluster, Node

# What needs a WebSocket, and says so over HTTP.
OF_SOCKETS = {"set_typing": 400, "unwatch_events": 400, "open_socket": 426}


class AccountNode(Node):
    """A process without --jwt-key: the port for apps has accounts of its own."""

    def sign_in_options(self):
        return []


class Generated:
    """The generated package, and which of its operations were called."""

    def __init__(self, folder, address):
        sys.path.insert(0, folder)
        self.package = importlib.import_module("client")
        self.models = importlib.import_module("client.models")
        self.address, self.called, self.operations = address, set(), {}
        for tag in self.modules("client.api"):
            for name in self.modules(f"client.api.{tag}"):
                self.operations[name] = importlib.import_module(f"client.api.{tag}.{name}")

    @staticmethod
    def modules(name):
        return [each.name for each in pkgutil.iter_modules(importlib.import_module(name).__path__)]

    def user(self, token=None):
        if token is None:
            return User(self, self.package.Client(base_url=self.address))
        client = self.package.AuthenticatedClient(base_url=self.address, token=token)
        return User(self, client)


class User:
    """A user of the generated client, or somebody who has not signed in."""

    def __init__(self, generated, client):
        self.generated, self.client = generated, client

    def call(self, name, *path, body=None, **query):
        """Calls an operation, which has to succeed and to answer as it is described."""
        if isinstance(body, dict):
            model = getattr(self.generated.models, name.title().replace("_", "") + "Body")
            body = model.from_dict(body)
        if body is not None:
            query["body"] = body
        self.generated.called.add(name)
        operation = self.generated.operations[name]
        answer = operation.sync_detailed(*path, client=self.client, **query)
        expected = OF_SOCKETS.get(name, 200)
        assert answer.status_code == expected, (name, answer.status_code, answer.content[:300])
        assert answer.parsed is not None, (name, answer.content[:300])
        return answer.parsed


def sign_up(generated, name):
    address = f"{name}-{uuid.uuid4().hex}@example.org"
    secret = {"email": address, "password": "walnut-lantern"}
    signed = generated.user().call("sign_up", body=secret)
    return secret, signed, generated.user(signed.access_token)


def talk(alice, bob, carol, bob_id, carol_id):
    chat = uuid.uuid4().hex
    alice.call(
        "create_conversation", body={"id": chat, "title": "Lunch", "participants": [bob_id]})
    alice.call("add_participant", chat, carol_id)
    assert [each.user for each in bob.call("list_changes", chat).changes] == [carol_id]
    sent = alice.call("send_message", chat, body={"id": "m1", "text": "noodles?"})
    assert (sent.replicas, sent.owners) == (1, 1), sent
    bob.call("send_message", chat, body={"id": "m2", "text": "at noon"})
    assert len(alice.call("list_messages", chat, limit=5).messages) == 2
    alice.call("edit_message", chat, "m1", body={"text": "rice?"})
    assert bob.call("get_message", chat, "m1").text == "rice?"
    assert len(bob.call("list_edits", chat, "m1").edits) == 2
    for name in ("delete_message", "restore_message", "pin_message"):
        bob.call(name, chat, "m1")
    assert [each.id for each in alice.call("list_pins", chat).messages] == ["m1"]
    alice.call("unpin_message", chat, "m1")
    bob.call("mark_delivered", chat, body={"message": "m1"})
    assert bob.call("mark_read", chat, body={}).unread == 0
    alice.call("list_marks", chat)
    assert alice.call("count_unread").total == 1
    for name in ("archive_conversation", "unarchive_conversation", "archive_chat",
                 "unarchive_chat"):
        bob.call(name, chat)
    for name in ("get_conversation", "get_chat"):
        assert alice.call(name, chat).title == "Lunch"
    for name in ("list_conversations", "list_chats"):
        alice.call(name)
    return chat


def keep_items(bob):
    bob.call("add_item", body={"id": "i1", "title": "reserve a table"})
    bob.call("edit_item", "i1", body={"priority": "high"})
    bob.call("finish_item", "i1")
    assert bob.call("get_item", "i1").done is True
    bob.call("reopen_item", "i1")
    assert len(bob.call("list_items").items) == 1
    bob.call("delete_item", "i1")


def know_people(alice, bob, bob_id, carol_id):
    bob.call("edit_profile", body={"name": "Bob"})
    assert bob.call("get_profile").name == "Bob"
    assert len(alice.call("list_profiles", users=bob_id).profiles) == 1
    bob.call("block_user", carol_id)
    assert len(bob.call("list_blocks").blocks) == 1
    bob.call("unblock_user", carol_id)


def be_notified(alice, bob, chat):
    bob.call("get_push_key")
    bob.call("register_device", "phone", body={"token": "t"})
    bob.call("set_viewing", "phone", body={})
    assert len(bob.call("list_devices").devices) == 1
    alice.call("send_message", chat, body={"id": "m3", "text": "are you there?"})
    listed = bob.call("list_notifications", "phone").notifications
    bob.call("delete_notification", "phone", listed[0].id, up_to=True)
    assert bob.call("list_notifications", "phone").notifications == []
    bob.call("remove_device", "phone")


def send_files(generated, alice, bob, chat):
    file = importlib.import_module("client.types").File
    content = b"GIF89a, or nearly"
    alice.call("upload_file", chat, body=file(payload=io.BytesIO(content)), id="f1")
    alice.call("put_file", chat, body=file(payload=io.BytesIO(content)))
    alice.call("put_named_file", chat, "f3", body=file(payload=io.BytesIO(content)))
    alice.call("send_message", chat, body={"id": "m4", "type": "image", "blob": "f1"})
    generated.called.add("download_file")
    answer = generated.operations["download_file"].sync_detailed(chat, "f1", client=bob.client)
    assert (answer.status_code, answer.content) == (200, content), answer


def listen(generated, token):
    """A stream of events has no end, for which no generated client is made."""
    generated.called.add("watch_events")
    request = urllib.request.Request(
        generated.address + "/v1/events", headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=10) as stream:
        assert stream.readline().startswith(b"id: ") and b"watching" in stream.readline()


def change_accounts(generated, alice, bob, carol, secret):
    signed = generated.user().call("sign_in", body=secret)
    generated.user().call("renew_sign_in", body={"refreshToken": signed.refresh_token, "id": "r1"})
    assert alice.call("get_account").email == secret["email"]
    old, new = secret["password"], "harbour-violin"
    signed = alice.call("change_password", body={"password": old, "newPassword": new})
    alice = generated.user(signed.access_token)
    signed = alice.call("change_email", body={"password": new, "email": "new-" + secret["email"]})
    generated.user(signed.access_token).call("delete_account", body={"password": new})
    bob.call("sign_out")
    carol.call("sign_out_everywhere")


def main():
    binary, tools = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        push_key = os.path.join(folder, "push.key")
        with open(os.open(push_key, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(b"a secret of more than 32 bytes, of a test\n")
        cluster = Cluster(binary, 1, ["--push-key", push_key])
        first = cluster.nodes[0]
        cluster.nodes = [AccountNode(cluster, first.name, (first.gossip, first.admin, first.http))]
        with cluster:
            call_all(f"http://127.0.0.1:{first.http}", folder, tools)


def call_all(address, folder, tools):
    described = os.path.join(folder, "openapi.json")
    with urllib.request.urlopen(address + "/v1/openapi.json") as answer, \
            open(described, "wb") as file:
        file.write(answer.read())
    subprocess.run(
        [os.path.join(tools, "openapi-python-client"), "generate", "--path", described,
         "--output-path", os.path.join(folder, "client"), "--meta", "none", "--fail-on-warning"],
        check=True, env=os.environ | {"PATH": tools + os.pathsep + os.environ["PATH"]})
    generated = Generated(folder, address)
    secret, alice_signed, alice = sign_up(generated, "alice")
    _, bob_signed, bob = sign_up(generated, "bob")
    _, carol_signed, carol = sign_up(generated, "carol")
    chat = talk(alice, bob, carol, bob_signed.user, carol_signed.user)
    keep_items(bob)
    know_people(alice, bob, bob_signed.user, carol_signed.user)
    be_notified(alice, bob, chat)
    send_files(generated, alice, bob, chat)
    alice.call("get_token")
    alice.call("set_typing", chat, body={"on": True})
    alice.call("unwatch_events")
    alice.call("open_socket")
    listen(generated, alice_signed.access_token)
    for _ in range(2):
        carol.call("leave_conversation", chat)
    bob.call("hide_conversation", chat)
    bob.call("hide_chat", chat)
    change_accounts(generated, alice, bob, carol, secret)
    missed = set(generated.operations) - generated.called
    assert not missed, f"not called: {sorted(missed)}"
    print(f"{len(generated.called)} operations were called by a generated client")


main()
