import Admin
import LineProtocol
import Node
import Replication

/// Where a session's replies go, and what slows its client down.
package protocol SessionOutput: AnyObject, Sendable {
    func write(_ bytes: [UInt8])
    /// How many bytes the client has not taken yet.
    var queuedBytes: Int { get }
    func setReadingPaused(_ isPaused: Bool)
    /// Nothing more will be written.
    func finish()
}

/// One connection's lines in, its replies out, in order; no socket.
///
/// Each line takes a slot in a ring, and the reply leaves when it is at the head and settled. While
/// a client does not read, or has asked for too much at once, its lines wait unread.
package actor Session: ReplySink {
    /// The most replies that may wait before no more lines are taken.
    static let slotsMax = 1_024
    /// The most bytes of replies that may wait, for the same.
    static let replyBytesMax = 1 << 20

    private enum Slot {
        case ready([UInt8])
        case pending(PendingReply)
        /// `WAIT`, until it is at the head.
        case whenFirst(copies: Int, deadline: UInt64)
        /// A report, until it is at the head.
        case report(Request)
        case waiting

        /// What it holds of a reply, sent or not.
        var bytesCount: Int {
            switch self {
            case .ready(let bytes): bytes.count
            case .pending(let reply): reply.bytesCount
            case .whenFirst, .report, .waiting: 0
            }
        }
    }

    package nonisolated let id: UInt64
    private nonisolated let executor: any SerialExecutor
    private let node: Node
    private let admin: Admin
    private let clock: any Clock
    private let output: any SessionOutput
    private var state: ConnectionState
    private var signIn: SignIn

    private var cutter = LineCutter()
    private var slots: [Slot] = []
    /// The place in `slots` of the next reply to leave; what is before it has left.
    private var head = 0
    /// The number of the slot at the head.
    private var headNumber: UInt64 = 0
    /// The bytes of replies in `slots`.
    private var replyBytes = 0
    /// Cut from what was read, but not answered yet; never more than one read.
    private var backlog: [Line] = []
    private var isPaused = false
    private var isHeld = false
    private var isEnding = false
    private var hasFinished = false
    /// Whether whatever the client says is thrown away.
    private var isTurnedAway = false

    enum Line {
        case whole([UInt8])
        case tooLong
        case notEnded
    }

    package init(
        _ id: UInt64, node: Node, clock: any Clock, output: any SessionOutput,
        executor: any SerialExecutor, ackLevel: Replication.AckLevel, door: Door = .none
    ) {
        self.id = id
        self.node = node
        self.clock = clock
        self.output = output
        self.executor = executor
        admin = Admin(node)
        state = ConnectionState(ackLevel: ackLevel)
        signIn = SignIn(door)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    // MARK: Events

    package func onBytes(_ bytes: UnsafeRawBufferPointer) {
        cutter.feed(bytes) { cut in
            guard backlog.isEmpty, !isFull else {
                backlog.append(Line(cut))
                return
            }
            answer(cut)
        }
        sendReplies()
        updateReading()
    }

    /// The client will send no more; what it asked is still answered.
    package func onEnd() {
        isEnding = true
        if let cut = cutter.finish() { backlog.append(Line(cut)) }
        continueBacklog()
    }

    /// The client took some of what was written.
    package func onDrained() { continueBacklog() }

    /// The node has too much to do: lines wait unread until it is done.
    ///
    /// To be held may come while a line is answered, `SHUTDOWN` for one: it touches nothing that
    /// answering uses.
    package func setHeld(_ isHeld: Bool) {
        self.isHeld = isHeld
        if isHeld { updateReading() } else { continueBacklog() }
    }

    /// Ends the connection with these words, once what was asked before is answered.
    package func turnAway(_ error: LineError) {
        append(.ready(error.reply))
        isTurnedAway = true
        isEnding = true
        continueBacklog()
    }

    /// Whether replies wait for the disk, for co-owners or for time.
    package var isAnswering: Bool { head < slots.count }

    package nonisolated func onSettled(_ number: UInt64, _ outcome: Settled) {
        assumeIsolated { $0.settle(number, outcome) }
    }

    /// The connection is gone.
    package func onClosed() {
        hasFinished = true
        slots = []
        head = 0
        replyBytes = 0
        backlog = []
        node.assumeIsolated { [id] in $0.detach(id) }
    }
}

// MARK: Lines

extension Session {
    private var isFull: Bool {
        isHeld || slots.count - head >= Session.slotsMax
            || replyBytes + output.queuedBytes >= Session.replyBytesMax
    }

    private func answer(_ cut: LineCutter.Cut) {
        guard !isTurnedAway else { return }
        switch cut {
        case .line(let line): answer(line)
        case .tooLong: say(signIn.onNonsense(.lineTooLong))
        case .notEnded: say(signIn.onNonsense(.lineNotEnded))
        }
    }

    private func answer(_ line: UnsafeRawBufferPointer) {
        do throws(LineError) {
            guard let request = try Request.parse(line), isHeard(request) else { return }
            answer(request)
        } catch {
            say(signIn.onNonsense(error))
        }
    }

    /// Whether who asks may ask; who may not has been told.
    private func isHeard(_ request: Request) -> Bool {
        let verdict: SignIn.Verdict
        if case .auth(let secret) = request {
            verdict = signIn.onSecret(secret, of: id)
        } else if signIn.isDone {
            return true
        } else {
            verdict = signIn.onEarly(request)
        }
        if verdict == .heard { return true }
        say(verdict)
        return false
    }

    /// Says what became of a line that is not answered as a request.
    private func say(_ verdict: SignIn.Verdict) {
        switch verdict {
        case .heard: break
        case .signedIn: append(.ready(SignIn.welcome))
        case .told(let error): append(.ready(error.reply))
        case .turnedAway(let error):
            append(.ready(error.reply))
            isTurnedAway = true
            isEnding = true
        }
    }

    private func answer(_ request: Request) {
        let number = headNumber + UInt64(slots.count - head)
        let slot = ReplySlot(session: id, number: number)
        switch admin.answer(request, for: slot, on: &state) {
        case .now(let bytes): append(.ready(bytes))
        case .later(let reply): append(.pending(reply))
        case .whenFirst(let copies, let milliseconds):
            append(.whenFirst(copies: copies, deadline: clock.milliseconds + milliseconds))
        case .reportWhenFirst(let request):
            append(.report(request))
        }
    }

    private func append(_ slot: Slot) {
        replyBytes += slot.bytesCount
        slots.append(slot)
    }

    private func continueBacklog() {
        var taken = 0
        while taken < backlog.count, !isFull {
            answer(backlog[taken])
            taken += 1
        }
        if taken > 0 {
            backlog.removeFirst(taken)
            node.assumeIsolated { $0.turnAgain() }
        }
        sendReplies()
        updateReading()
    }

    private func answer(_ line: Line) {
        switch line {
        case .whole(let bytes): bytes.withUnsafeBytes { answer(LineCutter.Cut.line($0)) }
        case .tooLong: answer(LineCutter.Cut.tooLong)
        case .notEnded: answer(LineCutter.Cut.notEnded)
        }
    }

    private func updateReading() {
        let isPaused = isFull || !backlog.isEmpty
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        output.setReadingPaused(isPaused)
    }
}

// MARK: Replies

extension Session {
    private func settle(_ number: UInt64, _ outcome: Settled) {
        guard number >= headNumber else { return }
        let index = head + Int(number - headNumber)
        guard index < slots.count else { return }
        switch slots[index] {
        case .pending(let reply):
            let (bytes, write) = reply.settle(outcome)
            if let write { state.note(write) }
            fill(index, with: bytes)
        case .waiting:
            fill(index, with: Admin.reply(toWait: outcome))
        case .ready, .whenFirst, .report:
            return
        }
        guard index == head else { return }
        sendReplies()
        if !backlog.isEmpty || isPaused || isEnding { continueBacklog() }
    }

    private func fill(_ index: Int, with bytes: [UInt8]) {
        replyBytes += bytes.count - slots[index].bytesCount
        slots[index] = .ready(bytes)
    }

    /// Writes every reply that is settled and has none before it.
    private func sendReplies() {
        while head < slots.count {
            if case .whenFirst(let copies, let deadline) = slots[head] {
                slots[head] = .waiting
                wait(for: copies, until: deadline)
            }
            if case .report(let request) = slots[head] {
                // A report that finds the client's queue full is made when that is drained.
                guard output.queuedBytes < Session.replyBytesMax else { break }
                fill(head, with: admin.report(request))
            }
            guard case .ready(let bytes) = slots[head] else { break }
            output.write(bytes)
            replyBytes -= bytes.count
            slots[head] = .waiting
            head += 1
            headNumber += 1
        }
        compact()
        guard isEnding, slots.isEmpty, backlog.isEmpty, !hasFinished else { return }
        hasFinished = true
        output.finish()
    }

    private func wait(for copies: Int, until deadline: UInt64) {
        let slot = ReplySlot(session: id, number: headNumber)
        let writes = state.writes
        node.assumeIsolated { $0.wait(slot, for: writes, copies: copies, until: deadline) }
    }

    private func compact() {
        if head == slots.count {
            slots.removeAll(keepingCapacity: slots.count <= Session.slotsMax)
            head = 0
        } else if head >= Session.slotsMax {
            slots.removeFirst(head)
            head = 0
        }
    }
}

extension Session.Line {
    init(_ cut: LineCutter.Cut) {
        switch cut {
        case .line(let bytes): self = .whole(Array(bytes))
        case .tooLong: self = .tooLong
        case .notEnded: self = .notEnded
        }
    }
}
