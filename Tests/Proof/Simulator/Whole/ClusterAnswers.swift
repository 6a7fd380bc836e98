import CRDT
import LineProtocol

/// The checks of single answers: whether each fits its request and what its connection has seen.
extension ClusterWorld {
    func judge(_ answer: ClusterAnswer, to request: ClusterRequest, on visit: ClusterVisit) {
        if let wrong = fault(in: answer, to: request) {
            let node = "n\(visit.address.machine + 1)"
            fail(.sound, "\(node) answers \(answer.summary) to \(request.text): \(wrong)")
        }
        coverage.count(answer.code.map { "ERR \($0)" } ?? "OK")
        noteNumbered(answer, request, on: visit)
        judgeRefusal(answer, to: request)
        judgeNotFound(answer, to: request, on: visit)
        noteTypingAnswered(answer, request, on: visit)
        if let code = answer.code {
            noteUnwatched(request, on: visit)
            noteNotRung(code, request, on: visit)
            return expectations.noteRefusal(code, of: request)
        }
        notePassed(request, at: visit.address.machine)
        noteDone(answer, request, on: visit)
        noteKnown(answer, request, on: visit)
        noteWatched(answer, request, on: visit)
        noteRung(answer, request, on: visit)
        judgeList(answer, request, on: visit)
        judgeAccount(answer, request, on: visit)
        switch request.kind {
        case .history(let conversation, let isWhole):
            notePlaces(answer)
            judgeHistory(answer, of: conversation, isWhole: isWhole, on: visit)
            judgeForward(answer, of: conversation, isWhole: isWhole, on: visit)
        case .edits(let name):
            for line in answer.lines("EDIT") { judgeText(line["text"] ?? "", of: name.id) }
        case .part(let name, let number): judgePart(answer, of: name, number: number)
        default: break
        }
    }

    /// Records what the client knows to be done, and on how many disks.
    private func noteDone(
        _ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit
    ) {
        let said = (answer.fields?["replicas"] ?? "").split(separator: "/")
        let count = said.first.flatMap { Int($0) } ?? 1
        let copies = min(
            count - disksLost(since: request.at, less: ClusterWorld.hearsayMicroseconds),
            ownersLeft(since: request.at, less: ClusterWorld.hearsayMicroseconds))
        if let (name, fact) = ClusterExpectations.fact(of: request, by: visit.user) {
            // The disk that held the change may have been lost before the answer came.
            let held = min(count, ownersLeft(since: request.at, less: 0))
            let isSafe = held > disksLost(with: fact, of: name, before: request)
            guard isSafe || isOnSomeDisk(name, fact) else { return }
            expectations.acknowledge(name, fact, copies: copies)
            visit.done.append((name, fact))
        }
        switch request.kind {
        case .send(let name):
            expectations.noteAnswered(name, at: now)
            visit.sent.append((name, isEverywhere: said.first == said.last))
        case .read(let name): expectations.noteMarked(name, by: visit.user)
        case .retract(let name):
            visit.retracted.insert(name.id)
        case .wait:
            // A fact that was lost with its disks before the answer came stays lost.
            for (name, fact) in visit.done
            where expectations.messages[name.id]?.isAcknowledged(fact) ?? false {
                expectations.acknowledge(name, fact, copies: copies)
            }
        default: break
        }
    }

    /// The longest time for which a node may count confirmations of a process that has died, in
    /// microseconds: a peer connection is given up after 6 s of silence.
    private static let hearsayMicroseconds: UInt64 = 7_000_000

    private func disksLost(since moment: UInt64, less microseconds: UInt64) -> Int {
        disksLostAt.count { $0 + microseconds >= moment }
    }

    /// Returns the greatest number of disks with a fact that were lost before the answer came.
    ///
    /// The node that answers had it on disk after the request. The others may have confirmed an
    /// earlier request to send the same message, and may have lost their disks before this one.
    private func disksLost(
        with fact: ClusterFact, of name: ClusterMessage.Name, before request: ClusterRequest
    ) -> Int {
        let lost = disksLost(since: request.at, less: 0)
        guard lost > 0, fact == .sent, let askedAt = expectations.messages[name.id]?.askedAt else {
            return lost
        }
        return disksLost(since: min(askedAt, request.at), less: 0)
    }

    /// Returns the smallest number of owners to which a leaving member has handed over since
    /// `moment`.
    private func ownersLeft(since moment: UInt64, less microseconds: UInt64) -> Int {
        handovers.lazy.filter { $0.at + microseconds >= moment }.map(\.owners).min() ?? .max
    }

    /// Describes what is wrong with an answer, seen on its own; nil if nothing is.
    private func fault(in answer: ClusterAnswer, to request: ClusterRequest) -> String? {
        if let code = answer.code {
            guard answer.data.isEmpty else { return "data lines before an error" }
            let isItsOwn = request.codes.contains(code)
            return isItsOwn ? nil : "ERR \(code) is none of its codes"
        }
        if case .bad(let code) = request.kind { return "not \(code)" }
        if case .numberedShown = request.kind { return nil }
        let nouns = Set(answer.data.map(\.noun))
        guard nouns.isSubset(of: [request.kind.noun]) else { return "other data lines" }
        return fault(inFields: answer, to: request)
    }

    private func fault(inFields answer: ClusterAnswer, to request: ClusterRequest) -> String? {
        guard let fields = answer.fields else { return "no status" }
        let isRight: Bool
        switch request.kind {
        case .send(let name):
            isRight = fields["id"] == name.id && fields["at"] != nil && fields["replicas"] != nil
        case .edit: isRight = fields["at"] != nil
        case .ping: isRight = fields.words == ["pong"]
        case .set: isRight = fields["ack"] != nil
        case .wait: isRight = fields["replicas"] != nil
        case .digest: isRight = fields["digest"] != nil && isDigest(answer)
        case .status: isRight = answer.data.count == 1
        case .members: isRight = !answer.data.isEmpty
        case .token, .watch:
            isRight = fields["token"].map { $0.utf8.count <= Token.textBytesMax } ?? false
        case .read: isRight = fields["unread"] != nil
        case .addItem(let id): isRight = fields["id"] == id
        case .create, .edits, .retract, .hide, .restore, .pin, .profile, .prepared, .numbered,
            .numberedShown, .history, .since,
            .chats, .items, .account, .blocks, .unwatch, .ring, .type, .operate, .upload, .file,
            .part, .bad:
            isRight = true
        }
        return isRight ? nil : "not what was asked for"
    }

    /// Whether the answer has at most one line per shard, in ascending order.
    private func isDigest(_ answer: ClusterAnswer) -> Bool {
        let shards = answer.lines("DIGEST").map { Int($0["shard"] ?? "") ?? -1 }
        return shards.allSatisfy((0..<plan.shards).contains)
            && zip(shards, shards.dropFirst()).allSatisfy { $0 < $1 }
    }

    // MARK: Reads

    private func judgeHistory(
        _ answer: ClusterAnswer, of conversation: String, isWhole: Bool, on visit: ClusterVisit
    ) {
        let lines = answer.lines("MESSAGE")
        let ids = lines.map { $0["id"] ?? "" }
        guard Set(ids).count == ids.count else {
            return fail(.sound, "HISTORY shows a message twice: \(ids)")
        }
        for (before, line) in zip(lines, lines.dropFirst())
        where (before["seq"] ?? "", before["id"] ?? "") >= (line["seq"] ?? "", line["id"] ?? "") {
            fail(.sound, "HISTORY is out of order at \(line["id"] ?? "")")
        }
        for line in lines {
            judgeMessage(line, by: visit.user)
            if visit.retracted.contains(line["id"] ?? ""), !line.isTrue("deletedForEveryone"),
                expectations.messages[line["id"] ?? ""]?.isAcknowledged(.retracted) ?? false,
                isAnsweredByOneOwner(conversation, at: visit.address.machine)
            {
                fail(.deleted, "\(line["id"] ?? "") shows on the connection that deleted it")
            }
        }
        guard isWhole else { return }
        let isOneOwner = isAnsweredByOneOwner(conversation, at: visit.address.machine)
        for (name, isEverywhere) in visit.sent
        where name.conversation == conversation && !ids.contains(name.id) {
            guard let message = expectations.messages[name.id], message.isAcknowledged(.sent),
                !message.hidesAsked.contains(visit.user),
                isOneOwner || (isEverywhere && hasNoOlderReplica(of: message))
            else { continue }
            fail(.reads, "\(name.id) is missing on the connection that sent it")
        }
    }

    /// Whether every replica that may answer for a message's conversation has a message that all of
    /// its owners were said to have on disk.
    ///
    /// If no owner with the message can be reached, a client without a token is answered by one
    /// that has lost its disk since, or by a former owner that has not handed over its replica.
    private func hasNoOlderReplica(of message: ClusterMessage) -> Bool {
        let lost = disksLost(
            since: message.askedAt ?? 0, less: ClusterWorld.hearsayMicroseconds)
        guard !mayOwnersChange, lost == 0 else { return false }
        let shard = shard(of: message.name.conversation)
        let owners = owners(of: shard)
        return machines.allSatisfy { owners.contains($0.index) || !$0.hasReplica(of: shard) }
    }

    /// The time after a fault during which a node may send requests to another owner than before,
    /// in microseconds.
    static let disturbanceMicroseconds: UInt64 = 8_000_000

    /// Whether one shard replica answers all requests that a node receives for a conversation or a
    /// user.
    ///
    /// The replica is the node's own or, without faults, that of the owner to which it sends
    /// requests. A client whose requests another owner answers sees what that owner has, and so
    /// does a client whose node becomes an owner or ceases to be one.
    func isAnsweredByOneOwner(_ conversation: String, at machine: Int) -> Bool {
        guard !mayOwnersChange else { return false }
        guard !owners(of: conversation).contains(machine) else { return true }
        guard let disturbedAt else { return true }
        return now > disturbedAt + ClusterWorld.disturbanceMicroseconds
    }

    /// Checks that a message may be shown as the line shows it.
    func judgeMessage(_ line: ReplyFields, by user: String) {
        guard let message = expectations.messages[line["id"] ?? ""] else {
            return fail(.sound, "\(line["id"] ?? "") was never sent")
        }
        guard message.mayExist else {
            return fail(.sound, "\(message.name.id) shows, and was refused")
        }
        guard line["from"] == message.sender else {
            return fail(.sound, "\(message.name.id) is not from its sender")
        }
        guard line.isTrue("deletedForEveryone") else {
            return judgeText(line["text"] ?? "", of: message.name.id)
        }
        guard message.mayShowDeleted else {
            return fail(.sound, "\(message.name.id) shows as deleted, and nobody asked for that")
        }
        if line["text"] != "[Message deleted]" {
            fail(.deleted, "\(message.name.id) is deleted and shows \(line["text"] ?? "nothing")")
        }
    }

    func judgeText(_ text: String, of id: String) {
        guard let message = expectations.messages[id] else { return }
        guard text == message.text || message.edits.contains(text) else {
            return fail(.sound, "\(id) shows a text that nobody gave it: \(text)")
        }
    }
}

extension ReplyLine {
    var noun: String {
        if case .data(let noun, _) = self { return noun }
        return ""
    }
}

extension ClusterAnswer {
    var summary: String { code.map { "ERR \($0)" } ?? "OK \(fields?.pairs.map(\.key) ?? [])" }
}

extension ClusterRequest {
    /// The error codes that may answer the request; a node that has not joined yet refuses `TOKEN`.
    var codes: [Int] {
        if case .token = kind, isEarly { return [503] }
        if case .send = kind, hasFile { return ClusterRequest.Kind.upload.codes }
        return kind.codes
    }
}

extension ClusterRequest.Kind {
    /// The noun of the answer's data lines; empty if it has none.
    var noun: String {
        switch self {
        case .history: "MESSAGE"
        case .edits: "EDIT"
        case .digest: "DIGEST"
        case .status: "NODE"
        case .members: "MEMBER"
        case .profile: "PROFILE"
        case .chats: "CHAT"
        case .items: "ACTION"
        case .account(let deed, _): deed.noun
        case .file: "FILE"
        case .part: "PART"
        case .ring(.list): "NOTIFICATION"
        case .blocks("HISTORY"): "MESSAGE"
        case .blocks("CHATS"): "CHAT"
        case .blocks(let verb) where ["UNREAD", "BLOCKED"].contains(verb): verb
        case .create, .prepared, .numbered, .numberedShown, .send, .edit, .retract, .hide, .restore,
            .pin, .read, .set, .wait, .ping,
            .token, .since, .watch, .unwatch, .ring, .type, .operate, .upload, .addItem, .blocks,
            .bad:
            ""
        }
    }

    /// The conversation that the request reads; nil if it reads none.
    var conversation: String? {
        switch self {
        case .history(let conversation, _): conversation
        case .edits(let name): name.conversation
        default: nil
        }
    }

    /// The error codes that may answer a request of this kind.
    var codes: [Int] {
        switch self {
        case .create, .profile, .chats, .items, .addItem: [503]
        case .prepared, .numberedShown: [404, 503]
        case .numbered: [403, 404, 408, 503]
        case .account(let deed, _): deed.codes
        case .send: [404, 503]
        case .blocks("CREATE"): [403, 503]
        case .blocks: [404, 503]
        case .upload: [403, 404, 409, 503]
        case .file, .part: [404, 503]
        case .edit: [403, 404, 503]
        case .edits, .hide, .restore, .pin(isOn: false), .read: [404, 503]
        case .pin(isOn: true): [404, 409, 503]
        case .retract: [403, 404, 503]
        case .history: [404, 503]
        case .digest, .status, .members, .set, .ping, .token, .unwatch: []
        case .since, .watch, .ring(.add): [503]
        case .ring, .type: [404, 503]
        case .wait: [504]
        case .operate(let codes): codes
        case .bad(404): [404, 503]
        case .bad(let code): [code]
        }
    }
}
