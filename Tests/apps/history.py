"""What the clients of a chaos run did and saw, and the checker of that history.

The checker knows the requests, their answers, the pushes, the times of the faults and what every
node says at the end; it knows nothing of how nodes work. What may have happened is no finding: a
request without an answer may have been executed at any later time, and both sides of a cut accept
what only one of them would.
"""

import dataclasses
import hashlib

# The outcomes of an attempt: executed, perhaps executed, not executed.
DONE, UNKNOWN, REFUSED = "done", "unknown", "refused"

# Seconds without any fault after which each node knows what any of them has answered before.
CALM_SECONDS = 3

# A notification stays listed, and its withdrawal is told, until so many later ones were told.
LISTED_MAX = 16


@dataclasses.dataclass
class Attempt:
    """A request to one node; times are those of one clock, in seconds."""

    what: str
    node: str
    # Counts the starts of the node's process.
    life: int
    began: float
    ended: float
    outcome: str
    status: int = 0
    by: str = ""

    def __str__(self):
        return (f"{self.began:9.3f} to {self.ended:9.3f}  {self.by} at {self.node}#{self.life}: "
                f"{self.what}: {self.status or 'no answer'} ({self.outcome})")


@dataclasses.dataclass
class Message:
    """A message, with all attempts to send, change and delete it."""

    conversation: str
    sender: str
    text: str
    file: str | None = None
    sends: list = dataclasses.field(default_factory=list)
    # Pairs of a text and its attempts, in the order in which one client made them.
    edits: list = dataclasses.field(default_factory=list)
    deletions: list = dataclasses.field(default_factory=list)

    def attempts(self):
        return self.sends + [each for _, tries in self.edits for each in tries] + self.deletions


@dataclasses.dataclass
class Upload:
    """One content that was uploaded under an id, perhaps by several attempts."""

    digest: str
    marker: str
    attempts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Read:
    """An answer that shows a whole conversation: the text of each message, nil where deleted."""

    client: str
    node: str
    began: float
    ended: float
    conversation: str
    shown: list
    # Whether it was shown with the session token of all that the client had seen.
    has_token: bool = True
    is_final: bool = False


@dataclasses.dataclass
class Download:
    client: str
    node: str
    began: float
    ended: float
    file: str
    status: int
    digest: str = ""
    has_token: bool = True
    is_final: bool = False


@dataclasses.dataclass
class Use:
    """An answer to an access token or a refresh token of a sign-in."""

    kind: str
    token: int
    attempt: Attempt
    # The client's name for a renewal; the number of the refresh token that it gave.
    request: str = ""
    given: int = -1
    is_final: bool = False

    @property
    def is_accepted(self):
        return self.attempt.status == 200

    @property
    def is_rejected(self):
        return self.attempt.status == 401


@dataclasses.dataclass
class SignIn:
    """A sign-in of an account, from the password to its end."""

    account: str
    created: Attempt
    uses: list = dataclasses.field(default_factory=list)
    # What ends it whenever it is executed: its sign-out.
    ends: list = dataclasses.field(default_factory=list)
    # What ends all sign-ins that the node knew: a new password, a sign-out of all devices.
    ends_of_all: list = dataclasses.field(default_factory=list)
    # When each access token was given, by its number.
    issued: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Account:
    email: str
    # The passwords it had or may have, in the order of the requests: pairs of text and attempts.
    passwords: list = dataclasses.field(default_factory=list)
    # The users whom answered sign-ups gave.
    users: set = dataclasses.field(default_factory=set)
    # The final sign-ins: (node, password, status, user).
    probes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Push:
    device: str
    at: float
    told: dict


@dataclasses.dataclass
class Device:
    user: str
    added: list = dataclasses.field(default_factory=list)
    # Whether the sign-in that registered it may have ended, and the device with it.
    may_have_ended: bool = False


@dataclasses.dataclass
class Finding:
    invariant: str
    subject: str
    detail: str


class History:
    def __init__(self):
        self.participants = {}
        self.creations = {}
        self.messages = {}
        self.files = {}
        self.reads, self.downloads = [], []
        self.sign_ins, self.accounts = {}, {}
        self.devices, self.pushes = {}, []
        # Spans of time in which all nodes ran and were connected.
        self.calm = []
        # The texts of deleted files that stand in a file of a data folder: (file, path).
        self.left_on_disk = []
        self.nodes = []

    def settles(self, since, until):
        """Whether all nodes must know at `until` what one of them answered at `since`."""
        return any(min(end, until) - max(begin, since) >= CALM_SECONDS for begin, end in self.calm)

    def story(self, subject):
        """Returns all that is known of a message, file, sign-in, account or conversation."""
        lines = []
        message = self.messages.get(subject)
        if message:
            lines.append(f"{message.conversation}, from {message.sender}, file {message.file}")
            lines += [str(each) for each in message.attempts()]
            for read in self.reads:
                for shown, text in read.shown:
                    if shown == subject:
                        lines.append(f"{read.began:9.3f} to {read.ended:9.3f}  {read.client} at "
                                     f"{read.node} reads {text!r}")
            lines += [f"{each.at:9.3f}  {each.device} is told {each.told}"
                      for each in self.pushes if each.told["message"] == subject]
            lines += self.story(message.file) if message.file else []
        for upload in self.files.get(subject, []):
            lines += [f"{each}: {upload.digest}" for each in upload.attempts]
        lines += [f"{each.began:9.3f} to {each.ended:9.3f}  {each.client} at {each.node} downloads:"
                  f" {each.status} {each.digest}" for each in self.downloads
                  if each.file == subject]
        if sign_in := self.sign_ins.get(subject):
            lines.append(str(sign_in.created))
            lines += [str(each) for each in sign_in.ends + sign_in.ends_of_all]
            lines += [f"{each.attempt} {each.kind} token {each.token}" + (
                f", request {each.request}, gives {each.given}" if each.request else "")
                for each in sign_in.uses]
        if account := self.accounts.get(subject):
            lines += [f"{each}: {text}" for text, tries in account.passwords for each in tries]
            lines += [f"finally {probe}" for probe in account.probes]
        lines += [str(each) for each in self.creations.get(subject, [])]
        return sorted(lines)


def is_done(attempts):
    return any(each.outcome == DONE for each in attempts)


def may_be_done(attempts):
    return any(each.outcome != REFUSED for each in attempts)


def done_at(attempts):
    """Returns when an attempt was answered as done for the first time; infinity for never."""
    return min((each.ended for each in attempts if each.outcome == DONE), default=float("inf"))


def last_moment(attempts):
    """Returns the latest time at which attempts may have been executed."""
    return max((each.ended if each.outcome == DONE else float("inf")
                for each in attempts if each.outcome != REFUSED), default=0)


CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def findings(history):
    """Returns the findings of all checks, of each check and subject the first one."""
    found = {}
    for function in CHECKS:
        invariant = " ".join(function.__doc__.split("\n\n")[0].split())
        for subject, detail in function(history):
            found.setdefault((invariant, subject), Finding(invariant, subject, detail))
    return list(found.values())


# MARK: Messages


@check
def nothing_is_lost(history):
    """Each acknowledged message and conversation is there at the end, on each node, unless its
    deletion was requested."""
    for read in history.reads:
        if not read.is_final:
            continue
        shown = {message for message, _ in read.shown}
        for name, message in history.messages.items():
            if message.conversation == read.conversation and is_done(message.sends) \
                    and not may_be_done(message.deletions) and name not in shown:
                yield name, f"not on {read.node}"
    there = {(read.node, read.conversation) for read in history.reads if read.is_final}
    for name, tries in history.creations.items():
        if is_done(tries):
            for node in history.nodes:
                if (node, name) not in there:
                    yield name, f"not on {node}"


@check
def every_message_stands_once(history):
    """No answer shows a message twice, or one that nobody sent in this conversation."""
    for read in history.reads:
        seen = set()
        for name, _ in read.shown:
            message = history.messages.get(name)
            if message is None or message.conversation != read.conversation \
                    or not may_be_done(message.sends):
                yield name, f"{read.node} shows what nobody sent"
            if name in seen:
                yield name, f"{read.node} shows it twice"
            seen.add(name)


@check
def a_text_is_one_that_was_written(history):
    """A text is the first one or that of an edit; after an acknowledged edit it is at the end no
    earlier one, where the earlier requests were all answered and both nodes knew of each other's.
    """
    for read in history.reads:
        for name, text in read.shown:
            message = history.messages.get(name)
            if message is None or text is None:
                continue
            texts = [(message.text, message.sends)] + message.edits
            if text not in [each for each, tries in texts if may_be_done(tries)]:
                yield name, f"{read.node} shows {text!r}"
            if not read.is_final:
                continue
            position = [each for each, _ in texts].index(text) if text in [
                each for each, _ in texts] else len(texts)
            for later, tries in texts[position + 1:]:
                begins = min(each.began for each in tries)
                if is_done(tries) and (position == 0 or history.settles(
                        last_moment(texts[position][1]), begins)):
                    yield name, f"{read.node} shows {text!r}, which {later!r} has replaced"


@check
def all_nodes_show_the_same(history):
    """At the end all nodes show the same messages in the same order."""
    finals = {}
    for read in history.reads:
        if read.is_final:
            first = finals.setdefault(read.conversation, read)
            if first.shown != read.shown:
                different = [a for a, b in zip(first.shown, read.shown) if a != b]
                yield read.conversation, f"{first.node} and {read.node} differ at {different[:1]}"


@check
def a_session_reads_its_writes(history):
    """An answer to a session token shows what was acknowledged to that session before."""
    for read in history.reads:
        if not read.has_token or read.is_final:
            continue
        shown = {message for message, _ in read.shown}
        for name, message in history.messages.items():
            if message.conversation == read.conversation and name not in shown \
                    and not may_be_done(message.deletions) and any(
                        each.outcome == DONE and each.by == read.client
                        and each.ended <= read.began for each in message.sends):
                yield name, f"{read.node} does not show it to {read.client} at {read.began:.3f}"


@check
def a_repeated_send_is_no_other_message(history):
    """A message that is sent again under its id, with the same text and no file, is not answered
    409."""
    for name, message in history.messages.items():
        if not message.file and any(each.status == 409 for each in message.sends):
            yield name, "409"


# MARK: Deletions


@check
def what_was_deleted_stays_deleted(history):
    """What was deleted for everyone is shown on no node at the end, nor to a session that was
    shown its deletion before, nor by any node once all were connected for some seconds."""
    known = {}
    for name, message in history.messages.items():
        for each in message.deletions:
            if each.outcome == DONE:
                known.setdefault((each.by, name), []).append(each.ended)
    for read in history.reads:
        for name, text in read.shown:
            if text is None and read.has_token:
                known.setdefault((read.client, name), []).append(read.ended)
    for read in history.reads:
        for name, text in read.shown:
            if text is None or name not in history.messages:
                continue
            deletions = history.messages[name].deletions
            if read.is_final and is_done(deletions):
                yield name, f"{read.node} shows it at the end"
            elif read.has_token and min(
                    known.get((read.client, name), [float("inf")])) <= read.began:
                yield name, f"{read.node} shows it to {read.client}, who saw its deletion"
            elif history.settles(done_at(deletions), read.began):
                yield name, f"{read.node} shows it long after its deletion"
    yield from deleted_files_that_are_read(history, known)


def message_of(history, file):
    return next((name for name, each in history.messages.items() if each.file == file), None)


def deleted_files_that_are_read(history, known):
    for read in history.downloads:
        name = message_of(history, read.file)
        if name is None or read.status not in (200, 206):
            continue
        deletions = history.messages[name].deletions
        if read.is_final and is_done(deletions):
            yield name, f"{read.node} has its file at the end"
        elif read.has_token and min(known.get((read.client, name), [float("inf")])) <= read.began:
            yield name, f"{read.node} gives its file to {read.client}, who saw its deletion"
        elif history.settles(done_at(deletions), read.began):
            yield name, f"{read.node} has its file long after its deletion"


@check
def nobody_else_deletes(history):
    """Nothing is shown as deleted whose deletion nobody requested."""
    for read in history.reads:
        for name, text in read.shown:
            message = history.messages.get(name)
            if text is None and message and not may_be_done(message.deletions):
                yield name, f"{read.node} shows it as deleted"


@check
def deleted_bytes_leave_the_disks(history):
    """The bytes of a deleted file stand in no file of any data folder at the end."""
    for file, path in history.left_on_disk:
        yield message_of(history, file) or file, f"{file} in {path}"


# MARK: Files


@check
def a_file_is_whole(history):
    """Each download that is answered whole is one of the uploads made under the file's id."""
    for read in history.downloads:
        digests = [each.digest for each in history.files.get(read.file, [])
                   if may_be_done(each.attempts)]
        if read.status == 200 and read.digest not in digests:
            yield read.file, f"{read.node} gives {read.digest}"


@check
def a_sent_file_is_there(history):
    """A file whose sending was acknowledged, and whose deletion nobody requested, downloads from
    each node at the end, and all nodes give the same."""
    finals = {}
    for read in history.downloads:
        if read.is_final:
            finals.setdefault(read.file, {})[read.node] = read
    for name, message in history.messages.items():
        if not message.file or not is_done(message.sends) or may_be_done(message.deletions):
            continue
        reads = finals.get(message.file, {})
        for node in history.nodes:
            if node not in reads or reads[node].status != 200:
                status = reads[node].status if node in reads else "nothing"
                yield name, f"{node} answers {status} to {message.file}"
        if len({each.digest for each in reads.values()}) > 1:
            yield name, f"the nodes have several files as {message.file}"


@check
def a_repeated_upload_is_accepted(history):
    """The same bytes again under an id under which nothing else was uploaded are not answered 409,
    as long as nobody deletes the file."""
    for file, uploads in history.files.items():
        name = message_of(history, file)
        deletions = history.messages[name].deletions if name else []
        if len(uploads) == 1 and not deletions:
            if any(each.status == 409 for each in uploads[0].attempts):
                yield file, "409"


# MARK: Accounts


def known_ends(history, sign_in):
    """Returns pairs of a time and a sentence: from when on the sign-in has ended for certain."""
    for each in sign_in.ends:
        if each.outcome == DONE:
            yield each.ended, f"signed out at {each.node}", each
    for each in sign_in.ends_of_all:
        # A node ends the sign-ins that it knows.
        is_known = sign_in.created.ended <= each.began and (
            (each.node, each.life) == (sign_in.created.node, sign_in.created.life)
            or history.settles(sign_in.created.ended, each.began))
        if each.outcome == DONE and is_known:
            yield each.ended, f"all were signed out at {each.node}", each
    for use in sign_in.uses:
        if use.kind == "refresh" and use.is_rejected:
            yield use.attempt.ended, f"a renewal was refused at {use.attempt.node}", use.attempt


@check
def an_ended_sign_in_never_goes_on(history):
    """After a sign-in has ended, no refresh token of it is accepted by the node that said so, nor
    by any node that was connected meanwhile, nor at the end; nor an access token, after a second.
    """
    for name, sign_in in history.sign_ins.items():
        for ended, why, end in known_ends(history, sign_in):
            for use in sign_in.uses:
                is_later = use.kind == "refresh" or end not in sign_in.ends_of_all or (
                    sign_in.issued[use.token] < end.began)
                margin = 0 if use.kind == "refresh" else 1.5
                if not use.is_accepted or use.attempt.began < ended + margin or not is_later:
                    continue
                same = (use.attempt.node, use.attempt.life) == (end.node, end.life)
                if same or use.is_final or history.settles(ended, use.attempt.began):
                    yield name, f"{why}, and then {use.attempt} with {use.kind} token {use.token}"


@check
def a_refused_token_stays_refused(history):
    """An access token that a node refused is accepted again neither by this node nor by one that
    was connected to it meanwhile."""
    for name, sign_in in history.sign_ins.items():
        refused = [use for use in sign_in.uses if use.kind == "access" and use.is_rejected]
        for use in sign_in.uses:
            for earlier in refused:
                if use.kind != "access" or not use.is_accepted or use.token != earlier.token \
                        or use.attempt.began < earlier.attempt.ended:
                    continue
                same = (use.attempt.node, use.attempt.life) == (
                    earlier.attempt.node, earlier.attempt.life)
                if same or use.is_final or history.settles(
                        earlier.attempt.ended, use.attempt.began):
                    yield name, f"{earlier.attempt}, and then {use.attempt}"


@check
def a_refresh_token_is_used_once(history):
    """Two renewals with one refresh token under different ids are not both accepted by one process,
    nor by two nodes that were connected in between."""
    for name, sign_in in history.sign_ins.items():
        accepted = [use for use in sign_in.uses if use.kind == "refresh" and use.is_accepted]
        for use in accepted:
            for earlier in accepted:
                if use.token != earlier.token or use.request == earlier.request \
                        or use.attempt.began < earlier.attempt.ended:
                    continue
                same = (use.attempt.node, use.attempt.life) == (
                    earlier.attempt.node, earlier.attempt.life)
                if same or history.settles(earlier.attempt.ended, use.attempt.began):
                    yield name, f"{earlier.attempt}, and then {use.attempt}"


def may_have_ended(sign_in, before):
    """Whether something may have ended a sign-in: a sign-out, an unanswered renewal, which the
    node may take for a second use when it executes it late, or two renewals with one token."""
    created = sign_in.created
    ends = [each for each in sign_in.ends + sign_in.ends_of_all
            if each.outcome != REFUSED and each is not created
            and not (each.outcome == DONE and each.ended <= created.began)]
    requests = {}
    for use in sign_in.uses:
        if use.kind == "refresh" and use.attempt.began < before:
            requests.setdefault(use.token, set()).add(use.request)
            if use.attempt.outcome == UNKNOWN:
                return True
    return any(each.began < before for each in ends) or any(
        len(each) > 1 for each in requests.values())


@check
def nobody_is_signed_out_for_nothing(history):
    """As long as nobody ends a sign-in and each refresh token is used once, no token of it is
    answered 401."""
    for name, sign_in in history.sign_ins.items():
        for use in sign_in.uses:
            if use.is_rejected and not may_have_ended(sign_in, use.attempt.ended):
                yield name, f"{use.attempt} with {use.kind} token {use.token}"


@check
def a_password_signs_in(history):
    """At the end each user has one password, the same at each node: one that was set last or
    perhaps later, none that was replaced for certain; and an address that was signed up once has
    one user.

    A sign-up that was repeated on the other side of a cut may have given two users, each of whom
    stays and has a password: as many passwords sign in as sign-ups may have been executed."""
    for name, account in history.accounts.items():
        if not any(is_done(tries) for _, tries in account.passwords):
            continue
        sign_ups = sum(each.outcome != REFUSED for each in account.passwords[0][1])
        by_node = {}
        for node, password, status, user in account.probes:
            if status == 200:
                by_node.setdefault(node, {})[password] = user
        for node in history.nodes:
            found = by_node.get(node, {})
            if not 1 <= len(found) <= sign_ups or len(set(found.values())) < len(found):
                yield name, f"{node} signs in with {found}"
            elif found != by_node.get(history.nodes[0]):
                yield name, f"{node} signs in with other passwords than {history.nodes[0]}: {found}"
            elif sign_ups == 1 and account.users and not set(found.values()) <= account.users:
                yield name, f"{node} signs another user in: {found}"
        if sign_ups > 1:
            continue
        texts = [text for text, _ in account.passwords]
        for found in by_node.values():
            for text in found:
                position = texts.index(text)
                mine = account.passwords[position][1]
                for _, tries in account.passwords[position + 1:]:
                    if is_done(tries) and history.settles(last_moment(mine), done_at(tries)):
                        yield name, f"{text!r} signs in, and was replaced"


# MARK: Pushes


@check
def a_notification_has_one_content(history):
    """All notifications of a device with one id tell of the same message, and of one message there
    is one id, but for a message that two nodes may have accepted."""
    contents, ids = {}, {}
    for push in history.pushes:
        told = push.told
        key = push.device, told["id"]
        content = tuple(told[field] for field in ("user", "conversation", "message", "from"))
        message = history.messages.get(told["message"])
        if message is None:
            yield told["message"], f"{push.device} is told of what nobody sent"
            continue
        if contents.setdefault(key, content) != content:
            yield told["message"], f"{key} tells {contents[key]} and {content}"
        if content[1] != message.conversation or content[3] != message.sender:
            yield told["message"], f"{key} tells {content}"
        texts = [message.text] + [text for text, tries in message.edits if may_be_done(tries)]
        if told["kind"] == "message" and told.get("text") not in texts:
            yield told["message"], f"{key} tells {told.get('text')!r}"
        if told["kind"] == "withdrawn" and "text" in told:
            yield told["message"], f"{key} is withdrawn with its text"
        known = ids.setdefault((push.device, told["message"]), set())
        known.add(told["id"])
        possible = sum(each.outcome != REFUSED for each in message.sends)
        if len(known) > possible:
            yield told["message"], f"{push.device} is told with {len(known)} ids: {known}"


@check
def nobody_is_told_of_others_messages(history):
    """A device is told of messages of its user's conversations that others sent, and not of one
    whose deletion was known to all nodes."""
    for push in history.pushes:
        message = history.messages.get(push.told["message"])
        if message is None:
            continue
        user = history.devices[push.device].user
        if push.told["user"] != user or message.sender == user \
                or user not in history.participants[message.conversation]:
            yield push.told["message"], f"{push.device} of {user} is told"
        if push.told["kind"] == "message" and history.settles(
                done_at(message.deletions), push.at):
            yield push.told["message"], f"{push.device} is told long after its deletion"
        if push.told["kind"] == "withdrawn" and not may_be_done(message.deletions):
            yield push.told["message"], f"{push.device}: withdrawn, which nobody asked for"


def owed(history):
    """Yields each device with the messages that it has to be told of, unless they are deleted."""
    for device, state in history.devices.items():
        if state.may_have_ended:
            continue
        added = done_at(state.added)
        for name, message in history.messages.items():
            if message.sender != state.user and is_done(message.sends) \
                    and state.user in history.participants[message.conversation] \
                    and message.sends[0].began > added + 0.5:
                yield device, name, message


@check
def every_device_is_told(history):
    """Each device whose sign-in goes on is told of each message that was acknowledged after the
    device was, by another participant, unless the deletion of the message was requested."""
    told = {(each.device, each.told["message"]) for each in history.pushes
            if each.told["kind"] == "message"}
    for device, name, message in owed(history):
        if not may_be_done(message.deletions) and (device, name) not in told:
            yield name, f"{device} is not told"


@check
def withdrawals_follow(history):
    """A device that was told of a message before its deletion is told of the deletion, unless so
    many messages came later that the notification may not be listed any more."""
    told, withdrawn = {}, set()
    for push in history.pushes:
        key = push.device, push.told["message"]
        if push.told["kind"] == "withdrawn":
            withdrawn.add(key)
        else:
            told[key] = min(push.at, told.get(key, push.at))
    for (device, name), at in told.items():
        message = history.messages.get(name)
        if message is None or not is_done(message.deletions) or (device, name) in withdrawn:
            continue
        user = history.devices[device].user
        if history.devices[device].may_have_ended:
            continue
        later = sum(
            user in history.participants[each.conversation] and each.sender != user
            and last_moment(each.sends) >= message.sends[0].began
            for other, each in history.messages.items() if other != name)
        begins = min(each.began for each in message.deletions if each.outcome != REFUSED)
        if at < begins and later < LISTED_MAX:
            yield name, f"{device} is not told that it was deleted"


# MARK: Histories with a defect, each of which has to be found


def done(what="x", at=1.0, node="n1", status=200, by="c1", outcome=None, life=0):
    outcome = outcome or (DONE if status == 200 else UNKNOWN if not status else REFUSED)
    return Attempt(what, node, life, at, at + 0.1, outcome, status, by)


def sample():
    """Returns a history without a defect."""
    history = History()
    history.nodes, history.calm = ["n1", "n2"], [(10, 20)]
    history.participants["t"] = ["alice", "bob"]
    history.creations["t"] = [done()]
    digest = hashlib.sha256(b"x").hexdigest()
    history.files["f"] = [Upload(digest, "marker", [done()])]
    history.messages = {
        "m1": Message("t", "alice", "one", None, [done(at=2)], [("two", [done(at=3)])]),
        "m2": Message("t", "alice", "file", "f", [done(at=4)]),
        "m3": Message("t", "alice", "gone", "g", [done(at=5)], [], [done(at=7)]),
    }
    history.files["g"] = [Upload(digest, "other", [done(at=4)])]
    sign_in = SignIn("a", done(), issued=[1.0])
    sign_in.uses = [Use("access", 0, done(at=2)), Use("refresh", 0, done(at=3), "r1", 1)]
    sign_in.ends = [done(at=8)]
    history.sign_ins["s"] = sign_in
    history.accounts["a"] = Account("a", [("first", [done()]), ("second", [done(at=9)])], {"u"})
    history.accounts["a"].passwords[1][1][0].ended = 19
    history.devices["d"] = Device("bob", [done(at=1)])
    for name, at in (("m1", 2.5), ("m2", 4.5), ("m3", 5.5)):
        told = {"id": "id" + name, "kind": "message", "user": "bob", "conversation": "t",
                "message": name, "from": "alice", "text": history.messages[name].text}
        history.pushes.append(Push("d", at, told))
    history.pushes.append(Push("d", 7.5, told | {"kind": "withdrawn"}))
    del history.pushes[-1].told["text"]
    for node in history.nodes:
        history.accounts["a"].probes.append((node, "second", 200, "u"))
        shown = [("m1", "two"), ("m2", "file"), ("m3", None)]
        history.reads.append(Read("c1", node, 30, 31, "t", shown, False, True))
        for file, status in (("f", 200), ("g", 404)):
            body = digest if status == 200 else ""
            history.downloads.append(Download("c1", node, 30, 31, file, status, body, False, True))
        for kind in ("access", "refresh"):
            use = Use(kind, 0, done(at=32, node=node, status=401), "last", is_final=True)
            sign_in.uses.append(use)
    return history


def spoiled():
    """Yields histories with one defect each, and the check that has to find it."""
    def case(function):
        history = sample()
        return history, function

    history, wanted = case(nothing_is_lost)
    history.reads[1].shown.pop(0)
    yield history, wanted
    history, wanted = case(every_message_stands_once)
    history.reads[1].shown.append(("m1", "two"))
    yield history, wanted
    history, wanted = case(a_text_is_one_that_was_written)
    history.reads[1].shown[0] = ("m1", "one")
    yield history, wanted
    history, wanted = case(a_text_is_one_that_was_written)
    history.reads[1].shown[0] = ("m1", "three")
    yield history, wanted
    history, wanted = case(all_nodes_show_the_same)
    history.reads[1].shown.reverse()
    yield history, wanted
    history, wanted = case(a_session_reads_its_writes)
    history.reads.append(Read("c1", "n2", 2.5, 2.6, "t", []))
    yield history, wanted
    history, wanted = case(a_repeated_send_is_no_other_message)
    history.messages["m1"].sends.append(done(at=2.2, status=409))
    yield history, wanted
    # A return of something deleted: to its session, after some seconds, at the end, and a file.
    history, wanted = case(what_was_deleted_stays_deleted)
    history.reads.append(Read("c1", "n2", 7.2, 7.3, "t", [
        ("m1", "two"), ("m2", "file"), ("m3", "gone")]))
    yield history, wanted
    history, wanted = case(what_was_deleted_stays_deleted)
    history.reads.append(Read("c2", "n2", 14, 14.1, "t", [("m3", "gone")], False))
    yield history, wanted
    history, wanted = case(what_was_deleted_stays_deleted)
    history.reads[1].shown[2] = ("m3", "gone")
    yield history, wanted
    history, wanted = case(what_was_deleted_stays_deleted)
    history.downloads.append(
        Download("c1", "n2", 7.5, 7.6, "g", 200, history.files["g"][0].digest))
    yield history, wanted
    history, wanted = case(nobody_else_deletes)
    history.reads[0].shown[0] = ("m1", None)
    yield history, wanted
    history, wanted = case(deleted_bytes_leave_the_disks)
    history.left_on_disk.append(("g", "n1/log"))
    yield history, wanted
    history, wanted = case(a_file_is_whole)
    history.downloads[0].digest = hashlib.sha256(b"xy").hexdigest()
    yield history, wanted
    history, wanted = case(a_sent_file_is_there)
    history.downloads[2].status = 404
    yield history, wanted
    history, wanted = case(a_repeated_upload_is_accepted)
    history.files["f"][0].attempts.append(done(at=1.5, status=409))
    yield history, wanted
    # A token of an ended sign-in: at the same node, elsewhere later, and at the end.
    for at, node in ((9.7, "n1"), (14, "n2")):
        for kind in ("access", "refresh"):
            history, wanted = case(an_ended_sign_in_never_goes_on)
            history.sign_ins["s"].uses.append(Use(kind, 0, done(at=at, node=node), "z"))
            yield history, wanted
    history, wanted = case(an_ended_sign_in_never_goes_on)
    history.sign_ins["s"].uses[-2].attempt.status = 200
    yield history, wanted
    history, wanted = case(a_refused_token_stays_refused)
    history.sign_ins["s"].uses += [
        Use("access", 0, done(at=8.2, status=401)), Use("access", 0, done(at=8.4))]
    yield history, wanted
    history, wanted = case(a_refresh_token_is_used_once)
    history.sign_ins["s"].uses.append(Use("refresh", 0, done(at=4), "r2", 2))
    yield history, wanted
    history, wanted = case(nobody_is_signed_out_for_nothing)
    history.sign_ins["s"].uses.append(Use("access", 0, done(at=4, status=401)))
    yield history, wanted
    history, wanted = case(a_password_signs_in)
    history.accounts["a"].probes[1] = ("n2", "second", 401, "")
    yield history, wanted
    history, wanted = case(a_password_signs_in)
    history.accounts["a"].probes = [(node, "first", 200, "u") for node in history.nodes]
    yield history, wanted
    history, wanted = case(a_password_signs_in)
    history.accounts["a"].probes.append(("n2", "first", 200, "u"))
    yield history, wanted
    # A second effect of a push id, and a second id of one effect.
    history, wanted = case(a_notification_has_one_content)
    history.pushes.append(Push("d", 3, history.pushes[0].told | {"message": "m2", "text": "file"}))
    yield history, wanted
    history, wanted = case(a_notification_has_one_content)
    history.pushes.append(Push("d", 3, history.pushes[0].told | {"id": "another"}))
    yield history, wanted
    history, wanted = case(nobody_is_told_of_others_messages)
    history.messages["m1"].sender = "bob"
    yield history, wanted
    history, wanted = case(nobody_is_told_of_others_messages)
    history.pushes.append(Push("d", 15, history.pushes[2].told))
    yield history, wanted
    history, wanted = case(every_device_is_told)
    history.pushes.pop(0)
    yield history, wanted
    history, wanted = case(withdrawals_follow)
    history.pushes.pop()
    yield history, wanted


def check_checker():
    """Demands that a history without a defect passes, and that each defect is found."""
    wrong = findings(sample())
    assert not wrong, wrong
    count, found = 0, set()
    for history, function in spoiled():
        assert list(function(history)), f"a defect is not found by {function.__name__}"
        count += 1
        found.add(function)
    assert found == set(CHECKS), [each.__name__ for each in set(CHECKS) - found]
    return count
