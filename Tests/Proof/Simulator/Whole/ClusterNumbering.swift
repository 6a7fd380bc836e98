import CRDT
import LineProtocol
import Wire

/// A client that numbers and times its writes itself, to values that nobody else writes.
///
/// A write that is not answered in time is repeated at another node. The connection with the first
/// one may stay open, so that a node which stood still executes it late.
final class NumberingClient {
    /// The values that the client writes, each in two ways.
    enum Subject: Int, CaseIterable {
        case pin, hidden, archived, text, profile
    }

    /// A write that is not answered yet.
    struct OpenWrite {
        let subject: Subject
        let value: Int
        let line: String
    }

    let index: Int
    let user: String
    let conversation: String
    var visit: ClusterVisit?
    /// The connections with unanswered writes that the client waits for no more.
    var abandoned: [ClusterVisit] = []
    var open: OpenWrite?
    /// The last accepted value of each subject.
    var accepted: [Subject: Int] = [:]
    /// Whether the conversation and its message were acknowledged.
    var isReady = false
    var number = 0
    var time = HybridTimestamp.zero
    /// The time until which it waits for an answer, in microseconds.
    var waitsUntil: UInt64 = 0

    init(_ index: Int) {
        self.index = index
        user = "w\(index)"
        conversation = "cw\(index)"
    }

    /// Returns the next write, with the time of a right clock or later.
    func next(_ subject: Subject, _ value: Int, at milliseconds: UInt64) -> OpenWrite {
        number += 1
        time = max(time.next, HybridTimestamp(milliseconds: milliseconds))
        let operation = "op=\(user).1.\(number).\(LineTime.text(time))"
        let place = "\(conversation) m\(user) \(user)"
        let isOn = value % 2 == 1
        let line =
            switch subject {
            case .pin: "\(isOn ? "PIN" : "UNPIN") \(place) \(operation)"
            case .hidden: "\(isOn ? "DELETE" : "RESTORE") \(place) \(operation)"
            case .archived: "\(isOn ? "ARCHIVE" : "UNARCHIVE") \(conversation) \(user) \(operation)"
            case .text: "EDIT \(place) \(operation) text\(value)"
            case .profile: "PROFILE \(user) name=name\(value) \(operation)"
            }
        return OpenWrite(subject: subject, value: value, line: line)
    }

    /// The lines that the client needs before it writes.
    var preparation: [String] {
        ["CREATE \(conversation) \(user),other", "SEND \(conversation) \(user) id=m\(user) text0"]
    }
}

extension ClusterWorld {
    func beginNumbering() {
        for index in 0..<plan.numberingClients {
            numbering.append(NumberingClient(index))
            push(.numbering(index), after: numberRandom.between(0...200_000))
        }
    }

    func act(_ client: NumberingClient) {
        guard now < clientsUntil else {
            for visit in client.abandoned + [client.visit].compactMap(\.self) where !visit.hasEnded
            {
                endLines(of: visit)
            }
            return
        }
        push(.numbering(client.index), after: numberRandom.between(2_000...60_000))
        guard let visit = client.visit else {
            client.visit = openVisit(to: numberRandom.below(machines.count), as: client.user)
            return
        }
        guard visit.open.isEmpty else {
            if now >= client.waitsUntil { giveUp(visit, of: client) }
            return
        }
        client.waitsUntil = now + numberRandom.between(20_000...1_500_000)
        guard client.isReady else {
            return ask(client.preparation.map { ClusterRequest(.prepared, $0) }, on: visit)
        }
        if client.open == nil {
            var subject = numberRandom.pick(NumberingClient.Subject.allCases)
            // Nobody edits what they have deleted for themselves.
            if subject == .text, (client.accepted[.hidden] ?? 0) % 2 == 1 { subject = .hidden }
            let value = (client.accepted[subject] ?? 0) + 1
            let milliseconds = ClusterMachine.wallStartMilliseconds + now / 1_000
            client.open = client.next(subject, value, at: milliseconds)
        } else {
            coverage.count("numbered again")
        }
        if let open = client.open { ask([ClusterRequest(.numbered, open.line)], on: visit) }
    }

    /// Goes on at another node; the connection stays open, or is closed with all that is under way.
    private func giveUp(_ visit: ClusterVisit, of client: NumberingClient) {
        client.visit = nil
        if numberRandom.chance(percent: 60), client.abandoned.count < 8 {
            coverage.count("numbered left open")
            client.abandoned.append(visit)
        } else {
            leave(visit)
        }
    }

    /// Records the answer to a client that numbers its writes.
    func noteNumbered(_ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit) {
        guard let client = numbering.first(where: { $0.user == visit.user }) else { return }
        switch request.kind {
        case .prepared where answer.code == nil:
            // Later writes have later times than all that a node has shown.
            if let sent = answer.fields?["at"].flatMap({ LineTime.parse($0) }) {
                let next = HybridTimestamp(milliseconds: UInt64(clamping: sent + 1))
                client.time = max(client.time, next)
            }
            client.isReady = client.isReady || request.line.starts(with: "SEND".utf8)
        case .numbered:
            guard answer.code == nil, let open = client.open,
                request.line.elementsEqual(open.line.utf8)
            else { return }
            client.accepted[open.subject] = open.value
            client.open = nil
            if client.visit !== visit { coverage.count("numbered answered late") }
        default: break
        }
    }

    func noteNumberingEnd(of visit: ClusterVisit) {
        for client in numbering {
            if client.visit === visit { client.visit = nil }
            client.abandoned.removeAll { $0 === visit }
        }
    }

    /// Checks that every node shows what each client wished last.
    ///
    /// A disk that was lost may have been the only one.
    func checkNumbered() {
        guard disksLostAt.isEmpty else { return }
        for client in numbering where client.isReady {
            for machine in members where finding == nil { checkNumbered(client, at: machine.index) }
        }
    }

    private func checkNumbered(_ client: NumberingClient, at index: Int) {
        let (user, conversation) = (client.user, client.conversation)
        let answers = needed(
            [
                "HISTORY \(conversation) \(user) hidden=true", "CHAT \(conversation) \(user)",
                "PROFILE \(user)",
            ].map { ClusterRequest(.numberedShown, $0) }, of: index, as: user)
        guard answers.count == 3, let message = answers[0].lines("MESSAGE").first,
            let chat = answers[1].lines("CHAT").first
        else {
            return fail(.kept, "n\(index + 1) has lost the message of \(user)")
        }
        let name = answers[2].lines("PROFILE").first?["name"] ?? "name0"
        let shown: [NumberingClient.Subject: Int] = [
            .pin: message["pinnedBy"] == nil ? 0 : 1, .hidden: message.isTrue("hidden") ? 1 : 0,
            .archived: chat.isTrue("archived") ? 1 : 0,
            .text: Int(message["text"]?.dropFirst(4) ?? "") ?? -1,
            .profile: Int(name.dropFirst(4)) ?? -1,
        ]
        for subject in NumberingClient.Subject.allCases {
            let isTruth = ![.text, .profile].contains(subject)
            var wished = [client.accepted[subject] ?? 0]
            // A write without an answer may have been executed.
            if let open = client.open, open.subject == subject { wished.append(open.value) }
            coverage.count("numbered wish")
            let value = shown[subject] ?? -1
            guard !wished.contains(where: { isTruth ? $0 % 2 == value : $0 == value }) else {
                continue
            }
            fail(
                .kept,
                "n\(index + 1) shows \(subject) of \(user) as \(value), not as wished: \(wished)"
            )
        }
    }
}
