import LineProtocol
import Session

/// A client that connects to one node after another.
final class ClusterClient {
    let index: Int
    let user: String
    /// The client's connection; nil if it has none.
    var visit: ClusterVisit?
    /// The token that the client carries from connection to connection.
    var token: ClusterToken?
    /// The number of message ids that the client has chosen.
    var messages = 0

    init(_ index: Int) {
        self.index = index
        user = ClusterClient.user(index)
    }

    static func user(_ index: Int) -> String { "u\(index)" }
}

/// A message to a client: an answer or an event.
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
    /// The requests without an answer, in order.
    var open: [ClusterRequest] = []
    var answers: [ClusterAnswer] = []
    /// The data lines of the answer that is being received.
    private var data: [ReplyLine] = []
    private var tail: [UInt8] = []
    /// The bytes on their way to the process, in order.
    var travelling: [[UInt8]] = []
    /// The reply bytes on their way to the client.
    var returning: [UInt8] = []
    /// The bytes that have arrived while the process reads no lines.
    var heldLines: [[UInt8]] = []
    var isHeld = false
    var hasEnded = false
    /// The arrival times of the last lines at the process and of the last replies here, in
    /// microseconds.
    var linesAt: UInt64 = 0
    var repliesAt: UInt64 = 0
    /// The messages acknowledged on this connection, and whether every owner had each then.
    var sent: [(name: ClusterMessage.Name, isEverywhere: Bool)] = []
    /// The facts acknowledged on this connection.
    var done: [(name: ClusterMessage.Name, fact: ClusterFact)] = []
    /// The messages that the client has seen on this connection or that its token covers.
    var known = ClusterKnowledge()
    /// Whether the client began with a token.
    var goesForward = false
    /// The messages deleted for everyone on this connection.
    var retracted: Set<String> = []
    /// The watcher whose connection this is, if any, and whether events may come on it.
    weak var watcher: ClusterWatcher?
    var isWatching = false
    /// The time since which it watches, in microseconds.
    var watchedAt: UInt64?
    /// The messages that should have been announced earlier, each with the message that was
    /// announced before it.
    var overtaken: [String: String] = [:]
    /// The places where typing is shown to the client.
    var typing: Set<TypingPlace> = []
    /// The device whose connection this is, if any, with its actions before the token that it
    /// brought (`doneBefore`) and on this connection (`doneHere`).
    weak var phone: ClusterPhone?
    var doneBefore = ClusterPhoneDeeds()
    var doneHere = ClusterPhoneDeeds()

    /// The name of the connection in a trace.
    var title: String {
        "visit \(id) of " + (watcher.map { "watcher \($0.index), " } ?? "") + user
    }

    init(_ id: UInt64, user: String, address: ClusterAddress, session: Session) {
        self.id = id
        self.user = user
        self.address = address
        self.session = session
    }

    /// Parses what a process wrote.
    ///
    /// - Returns: the completed answers, each with its request, and the events between them; nil if
    ///   a line is not part of the protocol or stands where it may not.
    func parse(_ bytes: [UInt8]) -> [ClusterHeard]? {
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

    /// Whether no request is open and no line is incomplete.
    var isBetween: Bool { open.isEmpty && tail.isEmpty && data.isEmpty }
}

/// The clients, and the bytes that travel between them and the nodes.
extension ClusterWorld {
    /// The limit of open requests at which a client waits.
    private static let openMax = 24
    /// The limit of the time to an answer, pauses of the node included, in microseconds.
    static let answerMicrosecondsMax: UInt64 = 25_000_000

    func visits(at address: ClusterAddress) -> [ClusterVisit] {
        visits.values.filter { $0.address == address && $0.session != nil }
            .sorted { $0.id < $1.id }
    }

    /// Opens a connection to a node.
    ///
    /// A process accepts clients from its start, and refuses what it cannot answer yet: an operator
    /// may have to tell it that members it waits for never return.
    ///
    /// - Returns: nil if the machine runs no process or that process is stopping.
    func openVisit(to index: Int, as user: String) -> ClusterVisit? {
        guard let process = machines[index].process, process.stopBy == nil else { return nil }
        nextID += 1
        let (id, machine, seed) = (nextID, machines[index], plan.seed)
        let address = ClusterAddress(machine: index, process: process.id)
        var session: Session?
        step(address, "client", id) { process in
            session = machine.makeSession(id, in: process, seed: seed)
        }
        guard let session else { return nil }
        let visit = ClusterVisit(id, user: user, address: address, session: session)
        visits[id] = visit
        return visit
    }

    // MARK: Client actions

    /// Whether clients still act; ends the lines of an open connection if they do not.
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
        if let requests = fileRequests(client) { return ask(requests, on: visit) }
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
            switch request.kind {
            case .create(let conversation):
                expectations.noteCreationAsked(of: conversation, at: now)
            case .send(let name):
                expectations.noteAsked(name, at: now)
                noteCauses(of: name, on: visit)
            default: break
            }
            tracer?("    \(visit.title) asks n\(visit.address.machine + 1): \(request.text)")
        }
        visit.open += requests.map { asked($0, on: visit) }
        transmit(bytes, on: visit)
    }

    private func asked(_ request: ClusterRequest, on visit: ClusterVisit) -> ClusterRequest {
        request.asked(at: now, isEarly: !(process(visit.address)?.isReady ?? true))
    }

    /// Sends bytes in pieces of arbitrary length.
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

    /// Ends the client's lines; the client still waits for its answers.
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

    /// Closes the client's connection at once, with all that is under way.
    func leave(_ visit: ClusterVisit) {
        coverage.count("client gone")
        let session = visit.session
        step(visit.address, "client-gone", visit.id) { _ in
            session?.assumeIsolated { $0.onClosed() }
        }
        visit.session = nil
        removeVisit(visit)
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
        trace("replies", visit.address.machine, digest(bytes))
        if let session = visit.session {
            step(visit.address, "drained", id) { process in
                process.host.assumeIsolated { $0.onTaken(bytes.count, from: id) }
                session.assumeIsolated { $0.onDrained() }
            }
        }
        tracer?("    \(visit.title) hears: " + String(decoding: bytes, as: UTF8.self))
        guard let heard = visit.parse(bytes) else {
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

    /// Ends a connection whose process, or whose end at the process, is gone.
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
        removeVisit(visit)
    }

    private func removeVisit(_ visit: ClusterVisit) {
        visits[visit.id] = nil
        noteTypingEnd(of: visit)
        for client in clients where client.visit === visit { client.visit = nil }
        for watcher in watchers where watcher.visit === visit { watcher.visit = nil }
        noteNumberingEnd(of: visit)
        for phone in phones + pushed where phone.visit === visit { phone.visit = nil }
    }

    /// Checks twice a second that no request waits for too long.
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
