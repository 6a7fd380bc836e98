import LineProtocol
import Session

/// Somebody who talks to one node after the other.
final class WholeClient {
    let index: Int
    let user: String
    /// The connection that it has, if any.
    var visit: WholeVisit?
    /// What it carries from connection to connection.
    var token: WholeToken?
    /// How many messages it has named.
    var messages = 0

    init(_ index: Int) {
        self.index = index
        user = WholeClient.user(index)
    }

    static func user(_ index: Int) -> String { "u\(index)" }
}

/// What comes to a client.
enum WholeHeard {
    case answer(WholeAnswer, to: WholeRequest)
    case event(ReplyFields)
}

/// One connection of a client to a process.
final class WholeVisit {
    let id: UInt64
    let user: String
    let address: WholeAddress
    /// Nil once the process is gone.
    var session: Session?
    /// Asked and not answered, in order.
    var open: [WholeRequest] = []
    var answers: [WholeAnswer] = []
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
    var sent: [(name: WholeMessage.Name, isEverywhere: Bool)] = []
    /// What was acknowledged on it.
    var done: [(name: WholeMessage.Name, fact: WholeFact)] = []
    /// What its client has seen on it, or came with.
    var known = WholeKnowledge()
    /// Whether it came with a token.
    var goesForward = false
    /// Messages deleted for everyone on it.
    var retracted: Set<String> = []
    /// Whose it is, where it is for watching, and whether events may come on it.
    weak var watcher: WholeWatcher?
    var isWatching = false
    /// Since when, in microseconds.
    var watchedAt: UInt64?
    /// Messages that were not told and should have been, each with the one that was told first.
    var overtaken: [String: String] = [:]
    /// Where it is shown that somebody types.
    var typing: Set<TypingPlace> = []
    /// Whose it is, where it is a device's, and what that has done: before the token that it came
    /// with, and on the connection itself.
    weak var phone: WholePhone?
    var doneBefore = WholePhoneDeeds()
    var doneHere = WholePhoneDeeds()

    init(_ id: UInt64, user: String, address: WholeAddress, session: Session) {
        self.id = id
        self.user = user
        self.address = address
        self.session = session
    }

    /// Takes what a process wrote.
    ///
    /// - Returns: the answers that it completes, each with its request, and events between them;
    ///   nil for a line that is none of the protocol's, or stands where it may not.
    func take(_ bytes: [UInt8]) -> [WholeHeard]? {
        var found: [WholeHeard] = []
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
            let answer = WholeAnswer(data: data, status: line)
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
extension WholeWorld {
    /// The most requests that a client leaves open before it waits.
    private static let openMax = 24
    /// How long an answer may take, pauses of the node included, in microseconds.
    static let answerMicrosecondsMax: UInt64 = 25_000_000

    func visits(at address: WholeAddress) -> [WholeVisit] {
        visits.values.filter { $0.address == address && $0.session != nil }
            .sorted { $0.id < $1.id }
    }

    /// A process takes clients from its beginning, and refuses what it cannot answer yet: an
    /// operator may have to say that those with what it misses do not come back.
    ///
    /// - Returns: nil where nobody takes clients.
    func openVisit(to index: Int, as user: String) -> WholeVisit? {
        guard let process = machines[index].process, process.stopBy == nil else { return nil }
        nextID += 1
        let (id, machine) = (nextID, machines[index])
        let address = WholeAddress(machine: index, process: process.id)
        var session: Session?
        step(address, "client", id) { process in session = machine.makeSession(id, in: process) }
        guard let session else { return nil }
        let visit = WholeVisit(id, user: user, address: address, session: session)
        visits[id] = visit
        return visit
    }

    // MARK: What a client does

    /// Whether people still act; who has come and may not, ends what he says.
    func isOpen(for visit: WholeVisit?) -> Bool {
        if now < clientsUntil { return true }
        if let visit, !visit.hasEnded { endLines(of: visit) }
        return false
    }

    func act(_ client: WholeClient) {
        guard isOpen(for: client.visit) else { return }
        push(.client(client.index), after: clientDice.between(3_000...90_000))
        guard let visit = client.visit else {
            let index = clientDice.below(machines.count)
            client.visit = openVisit(to: index, as: client.user)
            return greet(client)
        }
        guard !visit.hasEnded, visit.session != nil else { return }
        if clientDice.chance(percent: 3) { return endLines(of: visit) }
        if clientDice.chance(percent: 1) { return leave(visit) }
        guard visit.open.count < WholeWorld.openMax else { return }
        let count = clientDice.chance(percent: 15) ? 2 + clientDice.below(7) : 1
        if count > 1 { coverage.count("pipelined") }
        ask((0..<count).map { _ in nextRequest(client) }, on: visit)
    }

    func ask(_ requests: [WholeRequest], on visit: WholeVisit) {
        var bytes: [UInt8] = []
        for request in requests {
            bytes += request.line
            if clientDice.chance(percent: 5) { bytes.append(UInt8(ascii: "\r")) }
            bytes.append(UInt8(ascii: "\n"))
            if clientDice.chance(percent: 3) { bytes += Array("  \n".utf8) }
            coverage.count(request.kind.name)
            noteTypingAsked(request, on: visit)
            if case .send(let name) = request.kind {
                book.noteAsked(name, at: now)
                noteCauses(of: name, on: visit)
            }
            tracer?("    \(visit.user) asks n\(visit.address.machine + 1): \(request.text)")
        }
        visit.open += requests.map { asked($0, on: visit) }
        transmit(bytes, on: visit)
    }

    private func asked(_ request: WholeRequest, on visit: WholeVisit) -> WholeRequest {
        request.asked(at: now, isEarly: !(process(visit.address)?.isReady ?? true))
    }

    /// Lines arrive in pieces that end anywhere.
    private func transmit(_ bytes: [UInt8], on visit: WholeVisit) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let isWhole = clientDice.chance(percent: 70)
            let piece = rest.prefix(isWhole ? rest.count : 1 + clientDice.below(rest.count))
            rest = rest.dropFirst(piece.count)
            visit.linesAt = max(visit.linesAt, now + clientDice.between(20...700))
            visit.travelling.append(Array(piece))
            push(.lines(visit.id), at: visit.linesAt)
        }
    }

    /// The client sends no more, and waits for its answers.
    func endLines(of visit: WholeVisit) {
        visit.hasEnded = true
        if clientDice.chance(percent: 20) {
            let line = Array("PING".utf8)
            visit.open.append(asked(WholeRequest(.bad(400), line), on: visit))
            coverage.count("line not ended")
            transmit(line, on: visit)
        }
        push(.endOfLines(visit.id), at: visit.linesAt)
    }

    /// The client is gone, whatever was on its way.
    func leave(_ visit: WholeVisit) {
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
        let delay = clientDice.chance(percent: 2) ? clientDice.between(1_000...30_000) : 100
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
        tracer?("    " + String(decoding: bytes, as: UTF8.self))
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

    private func forget(_ visit: WholeVisit) {
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
            guard now > first.at + WholeWorld.answerMicrosecondsMax else { continue }
            fail(
                .answered,
                "n\(visit.address.machine + 1) has not answered since \(first.at / 1_000) ms: "
                    + first.text)
        }
    }
}
