import LineProtocol
import Session

/// Somebody who talks to one node after the other.
final class ClusterClient {
    let index: Int
    let user: String
    /// The connection that it has, if any.
    var visit: ClusterVisit?
    /// What it carries from connection to connection.
    var token: ClusterToken?
    /// How many messages it has named.
    var messages = 0

    init(_ index: Int) {
        self.index = index
        user = ClusterClient.user(index)
    }

    static func user(_ index: Int) -> String { "u\(index)" }
}

/// What comes to a client.
enum ClusterHeard {
    case answer(ClusterAnswer, to: ClusterRequest)
    case event(ReplyFields)
}

/// One connection of a client to a process.
final class ClusterVisit {
    let id: UInt64
    let user: String
    let address: ClusterAddress
    /// Nil once the process is gone.
    var session: Session?
    /// Asked and not answered, in order.
    var open: [ClusterRequest] = []
    var answers: [ClusterAnswer] = []
    /// What came of the answer at the head.
    private var data: [ReplyLine] = []
    private var tail: [UInt8] = []
    /// What travels to the process, in order.
    var travelling: [[UInt8]] = []
    /// Replies that travel to the client.
    var returning: [UInt8] = []
    /// What has arrived, while it takes no lines.
    var heldLines: [[UInt8]] = []
    var isHeld = false
    var hasEnded = false
    /// When the last lines arrive there, and the last replies here; in microseconds.
    var linesAt: UInt64 = 0
    var repliesAt: UInt64 = 0
    /// Messages acknowledged on this connection, and whether every owner had them then.
    var sent: [(name: ClusterMessage.Name, isEverywhere: Bool)] = []
    /// What was acknowledged on it.
    var done: [(name: ClusterMessage.Name, fact: ClusterFact)] = []
    /// What its client has seen on it, or came with.
    var known = ClusterKnowledge()
    /// Whether it came with a token.
    var goesForward = false
    /// Messages deleted for everyone on it.
    var retracted: Set<String> = []
    /// Whose it is, where it is for watching, and whether events may come on it.
    weak var watcher: ClusterWatcher?
    var isWatching = false
    /// Since when, in microseconds.
    var watchedAt: UInt64?
    /// Messages that were not told and should have been, each with the one that was told first.
    var overtaken: [String: String] = [:]
    /// Where it is shown that somebody types.
    var typing: Set<TypingPlace> = []
    /// Whose it is, where it is a device's, and what that has done: before the token that it came
    /// with, and on the connection itself.
    weak var phone: ClusterPhone?
    var doneBefore = ClusterPhoneDeeds()
    var doneHere = ClusterPhoneDeeds()

    /// In a trace.
    var title: String {
        "visit \(id) of " + (watcher.map { "watcher \($0.index), " } ?? "") + user
    }

    init(_ id: UInt64, user: String, address: ClusterAddress, session: Session) {
        self.id = id
        self.user = user
        self.address = address
        self.session = session
    }

    /// Takes what a process wrote.
    ///
    /// - Returns: the answers that it completes, each with its request, and events between them;
    ///   nil for a line that is none of the protocol's, or stands where it may not.
    func take(_ bytes: [UInt8]) -> [ClusterHeard]? {
        var found: [ClusterHeard] = []
        tail += bytes
        var start = 0
        while let end = tail[start...].firstIndex(of: UInt8(ascii: "\n")) {
            guard let line = ReplyLine(tail[start..<end]) else { return nil }
            start = end + 1
            if case .data("EVENT", let fields) = line {
                guard data.isEmpty else { return nil }
                found.append(.event(fields))
                continue
            }
            guard line.isStatus else {
                data.append(line)
                continue
            }
            guard !open.isEmpty else { return nil }
            let answer = ClusterAnswer(data: data, status: line)
            data = []
            found.append(.answer(answer, to: open.removeFirst()))
        }
        tail.removeFirst(start)
        return found
    }

    /// Whether it stands between answers.
    var isBetween: Bool { open.isEmpty && tail.isEmpty && data.isEmpty }
}

/// Clients, and what travels between them and the nodes.
extension ClusterWorld {
    /// The most requests that a client leaves open before it waits.
    private static let openMax = 24
    /// How long an answer may take, pauses of the node included, in microseconds.
    static let answerMicrosecondsMax: UInt64 = 25_000_000

    func visits(at address: ClusterAddress) -> [ClusterVisit] {
        visits.values.filter { $0.address == address && $0.session != nil }
            .sorted { $0.id < $1.id }
    }

    /// A process takes clients from its beginning, and refuses what it cannot answer yet: an
    /// operator may have to say that those with what it misses do not come back.
    ///
    /// - Returns: nil where nobody takes clients.
    func openVisit(to index: Int, as user: String) -> ClusterVisit? {
        guard let process = machines[index].process, process.stopBy == nil else { return nil }
        nextID += 1
        let (id, machine) = (nextID, machines[index])
        let address = ClusterAddress(machine: index, process: process.id)
        var session: Session?
        step(address, "client", id) { process in session = machine.makeSession(id, in: process) }
        guard let session else { return nil }
        let visit = ClusterVisit(id, user: user, address: address, session: session)
        visits[id] = visit
        return visit
    }

    // MARK: What a client does

    /// Whether people still act; who has come and may not, ends what he says.
    func isOpen(for visit: ClusterVisit?) -> Bool {
        if now < clientsUntil { return true }
        if let visit, !visit.hasEnded { endLines(of: visit) }
        return false
    }

    func act(_ client: ClusterClient) {
        guard isOpen(for: client.visit) else { return }
        push(.client(client.index), after: clientRandom.between(3_000...90_000))
        guard let visit = client.visit else {
            let index = clientRandom.below(machines.count)
            client.visit = openVisit(to: index, as: client.user)
            return greet(client)
        }
        guard !visit.hasEnded, visit.session != nil else { return }
        if clientRandom.chance(percent: 3) { return endLines(of: visit) }
        if clientRandom.chance(percent: 1) { return leave(visit) }
        guard visit.open.count < ClusterWorld.openMax else { return }
        let count = clientRandom.chance(percent: 15) ? 2 + clientRandom.below(7) : 1
        if count > 1 { coverage.count("pipelined") }
        ask((0..<count).map { _ in nextRequest(client) }, on: visit)
    }

    func ask(_ requests: [ClusterRequest], on visit: ClusterVisit) {
        var bytes: [UInt8] = []
        for request in requests {
            bytes += request.line
            if clientRandom.chance(percent: 5) { bytes.append(UInt8(ascii: "\r")) }
            bytes.append(UInt8(ascii: "\n"))
            if clientRandom.chance(percent: 3) { bytes += Array("  \n".utf8) }
            coverage.count(request.kind.name)
            noteTypingAsked(request, on: visit)
            if case .send(let name) = request.kind {
                book.noteAsked(name, at: now)
                noteCauses(of: name, on: visit)
            }
            tracer?("    \(visit.title) asks n\(visit.address.machine + 1): \(request.text)")
        }
        visit.open += requests.map { asked($0, on: visit) }
        transmit(bytes, on: visit)
    }

    private func asked(_ request: ClusterRequest, on visit: ClusterVisit) -> ClusterRequest {
        request.asked(at: now, isEarly: !(process(visit.address)?.isReady ?? true))
    }

    /// Lines arrive in pieces that end anywhere.
    private func transmit(_ bytes: [UInt8], on visit: ClusterVisit) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let isWhole = clientRandom.chance(percent: 70)
            let piece = rest.prefix(isWhole ? rest.count : 1 + clientRandom.below(rest.count))
            rest = rest.dropFirst(piece.count)
            visit.linesAt = max(visit.linesAt, now + clientRandom.between(20...700))
            visit.travelling.append(Array(piece))
            push(.lines(visit.id), at: visit.linesAt)
        }
    }

    /// The client sends no more, and waits for its answers.
    func endLines(of visit: ClusterVisit) {
        visit.hasEnded = true
        if clientRandom.chance(percent: 20) {
            let line = Array("PING".utf8)
            visit.open.append(asked(ClusterRequest(.bad(400), line), on: visit))
            coverage.count("line not ended")
            transmit(line, on: visit)
        }
        push(.endOfLines(visit.id), at: visit.linesAt)
    }

    /// The client is gone, whatever was on its way.
    func leave(_ visit: ClusterVisit) {
        coverage.count("client gone")
        let session = visit.session
        step(visit.address, "client-gone", visit.id) { _ in
            session?.assumeIsolated { $0.onClosed() }
        }
        visit.session = nil
        forget(visit)
    }

    // MARK: Lines

    func onLines(of id: UInt64) {
        guard let visit = visits[id], !visit.travelling.isEmpty else { return }
        visit.heldLines.append(visit.travelling.removeFirst())
        takeLines(of: id)
    }

    func takeLines(of id: UInt64) {
        guard let visit = visits[id] else { return }
        while !visit.isHeld, !visit.heldLines.isEmpty {
            guard let session = visit.session else { return }
            let bytes = visit.heldLines.removeFirst()
            step(visit.address, "lines", digest(bytes)) { _ in
                bytes.withUnsafeBytes { bytes in
                    // SAFETY: the session reads the buffer during this call only, on this thread.
                    nonisolated(unsafe) let bytes = bytes
                    session.assumeIsolated { $0.onBytes(bytes) }
                }
            }
        }
    }

    func onEndOfLines(of id: UInt64) {
        guard let visit = visits[id], let session = visit.session else { return }
        guard visit.travelling.isEmpty, visit.heldLines.isEmpty else {
            return push(.endOfLines(id), after: 1_000)
        }
        step(visit.address, "end-of-lines", id) { _ in session.assumeIsolated { $0.onEnd() } }
    }

    func holdLines(of id: UInt64, _ isHeld: Bool) {
        guard let visit = visits[id] else { return }
        coverage.count("lines held")
        visit.isHeld = isHeld
        if !isHeld { push(.takeLines(id), after: 0) }
    }

    // MARK: Replies

    func deliver(_ bytes: [UInt8], to id: UInt64) {
        guard let visit = visits[id] else { return }
        visit.returning += bytes
        guard visit.returning.count == bytes.count else { return }
        let delay = clientRandom.chance(percent: 2) ? clientRandom.between(1_000...30_000) : 100
        visit.repliesAt = now + delay
        push(.replies(id), at: visit.repliesAt)
    }

    func finish(_ id: UInt64) {
        guard let visit = visits[id] else { return }
        push(.visitOver(id, isInOrder: true), at: visit.repliesAt)
    }

    func onReplies(to id: UInt64) {
        guard let visit = visits[id] else { return }
        let bytes = visit.returning
        visit.returning = []
        note("replies", visit.address.machine, digest(bytes))
        if let session = visit.session {
            step(visit.address, "drained", id) { process in
                process.desk.assumeIsolated { $0.onTaken(bytes.count, from: id) }
                session.assumeIsolated { $0.onDrained() }
            }
        }
        tracer?("    \(visit.title) hears: " + String(decoding: bytes, as: UTF8.self))
        guard let heard = visit.take(bytes) else {
            return fail(.answered, "an answer to nothing, or none: \(tail(of: bytes))")
        }
        for next in heard {
            switch next {
            case .event(let fields): hear(fields, on: visit)
            case .answer(let answer, let request):
                visit.answers.append(answer)
                judge(answer, to: request, on: visit)
            }
        }
    }

    private func tail(of bytes: [UInt8]) -> String {
        String(decoding: bytes.suffix(200), as: UTF8.self)
    }

    /// The process, or its end of the connection, is gone.
    func onVisitOver(_ id: UInt64, isInOrder: Bool) {
        guard let visit = visits[id] else { return }
        if isInOrder, !visit.isBetween {
            fail(.answered, "a session ends with \(visit.open.count) requests unanswered")
        }
        if let session = visit.session {
            step(visit.address, "visit-over", id) { _ in
                session.assumeIsolated { $0.onClosed() }
            }
        }
        visit.session = nil
        forget(visit)
    }

    private func forget(_ visit: ClusterVisit) {
        visits[visit.id] = nil
        noteTypingEnd(of: visit)
        for client in clients where client.visit === visit { client.visit = nil }
        for watcher in watchers where watcher.visit === visit { watcher.visit = nil }
        for phone in phones where phone.visit === visit { phone.visit = nil }
    }

    /// Twice a second: whether anybody waits for too long.
    func look() {
        push(.look, after: 500_000)
        for visit in visits.values.sorted(by: { $0.id < $1.id }) {
            guard let first = visit.open.first, visit.session != nil else { continue }
            guard now > first.at + ClusterWorld.answerMicrosecondsMax else { continue }
            fail(
                .answered,
                "n\(visit.address.machine + 1) has not answered since \(first.at / 1_000) ms: "
                    + first.text)
        }
    }
}
