import Admin
import LineProtocol
import Node
import Replication

/// A client's connection without its socket: requests come in, as lines or as values, and responses
/// leave in the order of the requests.
///
/// Each request has a slot in a ring; its response leaves when it is settled and at the head. While
/// a client does not read, or has asked for too much at once, its requests wait.
package actor Session: ReplySink, SessionInput {
    package nonisolated let id: UInt64
    private nonisolated let executor: any SerialExecutor
    let node: Node
    private let admin: Admin
    private let ackLevel: Replication.AckLevel
    let clock: any Clock
    let output: any SessionOutput
    /// The memory budget of all sessions; nil if there is no limit.
    let memory: ClientMemory?
    var state: ConnectionState
    var signIn: SignIn

    var cutter = LineCutter()
    var ring = SlotRing()
    /// When the last bytes were read, in microseconds: all unanswered lines came with them.
    var readAt: UInt64 = 0
    /// Replies that have left and are not reported to the node yet; empty between turns.
    private var answered: [AnsweredRequest] = []
    /// The number of bytes of the reply at the head that have left.
    var headSent = 0
    var waiting: WaitingEvents
    var backlog = Backlog()
    /// Requests that are no lines and wait to be answered; whoever submits them stops where the
    /// session pauses reading.
    private(set) var submitted: [(request: Request, asked: RequestTrace)] = []
    /// A request that waits for memory for its reply; all that follows it waits, too.
    private var crowdedOut: (request: Request, asked: RequestTrace)?
    var estimated = ReplySizeEstimate()
    var share = TurnShare()
    /// The number of bytes ever written.
    var written: UInt64 = 0
    /// The bytes that `ClientMemory` was last told of.
    var notedBytes = 0
    /// The number of an unanswered request that must not see the effects of later ones.
    private var moving: UInt64?
    private var isPaused = false
    private var isHeld = false
    var isEnding = false
    var hasCutEnd = false
    /// Whether nothing more is written.
    var hasFinished = false
    /// Whether further lines are ignored.
    var isTurnedAway = false

    package init(
        _ id: UInt64, node: Node, clock: any Clock, output: any SessionOutput,
        executor: any SerialExecutor, ackLevel: Replication.AckLevel,
        authPolicy: AuthPolicy = .none,
        memory: ClientMemory? = nil
    ) {
        self.id = id
        self.node = node
        self.clock = clock
        self.output = output
        self.executor = executor
        self.memory = memory
        self.ackLevel = ackLevel
        waiting = WaitingEvents(on: output, sharing: memory)
        admin = Admin(node, limits: SessionLimits.all)
        state = ConnectionState(ackLevel: ackLevel)
        signIn = SignIn(authPolicy)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    // MARK: Events

    package func onBytes(_ bytes: UnsafeRawBufferPointer) {
        readAt = clock.microseconds
        var taken = 0
        beginShare()
        if backlog.isEmpty {
            taken = cutter.feed(bytes, while: { !isFull }, { answer($0) })
        }
        backlog.append(bytes[taken...])
        noteHeld()
        if isLineTooMuch { refuseLine() }
        finishInput()
    }

    /// Answers a request that is no line; the output receives the response.
    ///
    /// - Parameter traits: those of its verb; nil for a request of the node itself, which is not
    ///   counted.
    package func submit(_ request: Request, _ traits: Verb.Traits?) {
        readAt = clock.microseconds
        var asked = RequestTrace(of: request, traits, readAt: readAt)
        asked.isLine = false
        asked.isCounted = traits != nil
        submitted.append((request, asked))
        beginShare()
        _ = takeBacklog()
        noteHeld()
        finishInput()
    }

    /// Forgets what was set, written and seen, as before the first request.
    ///
    /// - Returns: false where a request waits for its response, or events may follow: then the
    ///   session stays as it is.
    package func startAnew() -> Bool {
        guard ring.isEmpty, !hasBacklog, crowdedOut == nil, !waiting.hasWatched, !isEnding,
            !hasFinished, !node.assumeIsolated({ [id] in $0.hasReadBarriers(of: id) })
        else { return false }
        state = ConnectionState(ackLevel: ackLevel)
        return true
    }

    /// Sends what may leave after input was taken.
    private func finishInput() {
        if isMovedOnBySending(), hasBacklog { return continueBacklog() }
        endShare()
        noteHeld()
        updateReading()
    }

    /// Handles the end of the client's input; its requests are still answered.
    package func onEnd() {
        isEnding = true
        continueBacklog()
    }

    /// Continues after the client has taken some of what was written.
    package func onDrained() { continueBacklog() }

    /// Continues in the next turn, after the session had used its share of one.
    package func onTurn() {
        share.isWaiting = false
        continueBacklog()
    }

    /// Continues with the request that waited for memory.
    package func onMemoryFreed() {
        guard let (request, asked) = crowdedOut else { return }
        crowdedOut = nil
        answer(request, asked)
        node.assumeIsolated { $0.turnAgain() }
        continueBacklog()
    }

    /// Disconnects the client or refuses its line: memory is tight, and the client stalls.
    package func onStalled() {
        guard !hasFinished else { return }
        if output.queuedBytes > 0 {
            abort()
        } else {
            refuseLine()
            continueBacklog()
        }
    }

    /// Sets whether lines wait unread because the node has too much to do.
    ///
    /// It may be called while a line is answered, and touches nothing that answering uses.
    package func setHeld(_ isHeld: Bool) {
        self.isHeld = isHeld
        if isHeld { updateReading() } else { continueBacklog() }
    }

    /// Ends the connection with this error, once all earlier requests are answered.
    package func turnAway(_ error: LineError) {
        append(.failed(error), to: .nothing(readAt: readAt))
        isTurnedAway = true
        isEnding = true
        hasCutEnd = true
        continueBacklog()
    }

    /// Whether replies wait for the disk, for co-owners or for time.
    package var isAnswering: Bool { !ring.isEmpty }

    /// Handles the end of the connection.
    package func onClosed() {
        hasFinished = true
        ring.removeAll()
        headSent = 0
        backlog = Backlog()
        submitted = []
        crowdedOut = nil
        estimated = ReplySizeEstimate()
        waiting.removeAll()
        cutter = LineCutter()
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
        node.assumeIsolated { [id] in $0.detach(id) }
    }
}

// MARK: Lines

extension Session {
    private var isFull: Bool {
        isHeld || moving != nil || crowdedOut != nil || isTired
            || ring.count >= SessionLimits.slotsMax || isHoldingMuch
    }

    /// Whether the session has used its share of the turn.
    private var isTired: Bool { memory != nil && share.isSpent }

    private func beginShare() {
        guard let grant = memory?.assumeIsolated({ $0.grant }) else { return }
        share.begin(grant, now: clock.microseconds)
    }

    /// Ends the measurement; a session without share left continues in the next turn.
    private func endShare() {
        guard let memory else { return }
        share.measure(now: clock.microseconds)
        let used = share.finishMeasuring()
        let isWaiting = share.isSpent && !share.isWaiting
        if isWaiting { share.isWaiting = true }
        guard used > 0 || isWaiting else { return }
        memory.assumeIsolated { [id, source] in
            $0.subtract(used: used)
            if isWaiting { $0.standBack(id, of: source) }
        }
    }

    /// Whether so much waits here that no more lines are taken.
    private var isHoldingMuch: Bool {
        let bytes = ring.bytes + waiting.bytesUntaken
        guard bytes >= SessionLimits.freeBytes else { return false }
        let isTight = memory?.assumeIsolated { $0.isTight } ?? false
        return isTight || bytes >= SessionLimits.replyBytesMax
    }

    func answer(_ request: Request, _ asked: RequestTrace) {
        let bytes = asked.replyBytesEstimated(of: request)
        guard bytes == 0 || hasMemory(for: bytes) else {
            crowdedOut = (request, asked)
            memory?.assumeIsolated { [id, source] in $0.wait(id, of: source, for: bytes) }
            return
        }
        let number = ring.nextNumber
        let slot = ReplySlot(session: id, number: number)
        switch admin.answer(request, for: slot, on: &state) {
        case .now(let response): append(response, to: asked)
        case .whenStored(let response, let seen):
            var asked = asked
            ring.append(.held(asked.make(response), seen: seen), to: asked)
        case .later(let reply):
            if reply.isMadeElsewhere {
                estimated.add(bytes, for: number)
                if node.assumeIsolated({ $0.isGathering(slot) }) { moving = number }
            }
            ring.append(.pending(reply), to: asked)
        case .whenFirst(let copies, let milliseconds):
            ring.append(
                .whenFirst(copies: copies, deadline: clock.milliseconds + milliseconds), to: asked)
        case .reportWhenFirst(let request):
            moving = number
            ring.append(.report(request), to: asked)
        case .beginWhenFirst(let request):
            moving = number
            ring.append(.work(request), to: asked)
        }
    }

    func append(_ response: Response, to asked: RequestTrace) {
        var asked = asked
        ring.append(.ready(asked.make(response)), to: asked)
    }

    private func continueBacklog() {
        beginShare()
        sendReplies()
        repeat {
            if takeBacklog() { node.assumeIsolated { $0.turnAgain() } }
        } while isMovedOnBySending() && hasBacklog
        if isEnding, !hasBacklog, !hasCutEnd, !isFull {
            hasCutEnd = true
            if let cut = cutter.finish() { answer(cut) }
        }
        sendReplies()
        endShare()
        noteHeld()
        updateReading()
    }

    /// Sends replies.
    ///
    /// - Returns: whether that answered a request on which later ones had to wait.
    private func isMovedOnBySending() -> Bool {
        let wasMoving = moving != nil
        sendReplies()
        return wasMoving && moving == nil
    }

    var hasBacklog: Bool { !backlog.isEmpty || !submitted.isEmpty }

    /// - Returns: whether any requests were taken.
    private func takeBacklog() -> Bool {
        guard hasBacklog, !isFull else { return false }
        let hasTaken = takeSubmitted()
        guard !backlog.isEmpty else { return hasTaken }
        var rest = Backlog()
        swap(&rest, &backlog)
        defer { backlog = rest }
        return rest.feed { cutter.feed($0, while: { !isFull }, { answer($0) }) }
    }

    private func takeSubmitted() -> Bool {
        guard !submitted.isEmpty else { return false }
        var taken = 0
        var requests: [(request: Request, asked: RequestTrace)] = []
        swap(&requests, &submitted)
        while taken < requests.count, !isFull {
            let (request, asked) = requests[taken]
            taken += 1
            if isHeard(request, asked) { answer(signIn.made(request), asked) }
            if memory != nil { share.noteLine(now: clock.microseconds) }
        }
        submitted = requests.dropFirst(taken) + submitted
        return taken > 0
    }

    private func updateReading() {
        let isPaused = isFull || hasBacklog
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        output.setReadingPaused(isPaused)
    }
}

// MARK: Replies

extension Session {
    func settle(_ number: UInt64, _ outcome: ReplyResult) {
        guard let slot = ring.take(number) else { return }
        switch slot {
        case .pending(let reply):
            if reply.isMadeElsewhere { estimated.remove(number) }
            let (response, write) = reply.settle(outcome)
            if let write { state.recordWrite(write, isHere: reply.isWrittenHere) }
            if outcome == .level { state.isStrict = true }
            fill(number, with: response)
        case .held(let made, let seen):
            state.recordObservations(seen)
            if case .stored = outcome {
                ring.put(.ready(made), at: number)
            } else {
                fill(number, with: Response(outcome))
            }
        case .waiting:
            fill(number, with: Response(outcome))
        case .token(let connection):
            if case .copies(_, isEnough: true) = outcome { state.noteOnMajority(connection) }
            fill(number, with: admin.report(.token, to: connection))
        case .ready, .whenFirst, .report, .work:
            ring.put(slot, at: number)
        }
    }

    /// Sends what may leave after replies were settled, and continues with waiting lines.
    func sendSettled() {
        if share.isSpent { beginShare() }
        guard ring.isHeadReady else { return noteHeld() }
        sendReplies()
        endShare()
        noteHeld()
        if hasBacklog || isPaused || isEnding { continueBacklog() }
    }

    private func fill(_ number: UInt64, with response: Response) {
        ring.fill(number, with: response)
        if moving == number { moving = nil }
    }

    /// Writes every settled reply that has no unsettled one before it.
    private func sendReplies() {
        sendEvents()
        while !ring.isEmpty {
            beginHead()
            if ring.isHeadReady { waiting.holdReply() }
            sendEvents()
            guard case .ready(let made) = ring.head, !(mayTell && waiting.isNextDue), send(made)
            else { break }
            waiting.passReply()
            if let request = ring.removeHead() { answered.append(request) }
        }
        sendEvents()
        tellAnswered()
        ring.compact()
        guard isOver, !hasFinished else { return }
        guard waiting.isEmpty else {
            return node.assumeIsolated { [id] in $0.onEventsLeft(for: id) }
        }
        hasFinished = true
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
        output.finish()
    }

    /// Begins a request that had to wait until it was at the head.
    private func beginHead() {
        switch ring.head {
        case .ready, .held, .pending, .token, .waiting: return
        case .whenFirst(let copies, let deadline):
            ring.head = .waiting
            wait(for: copies, until: deadline)
        case .report(let request):
            // While the client's queue is full, a report waits to be made.
            guard output.queuedBytes < SessionLimits.replyBytesMax, !isTired else { return }
            if case .token = request, awaitsMajority() { return }
            fill(ring.headNumber, with: admin.report(request, to: state))
            share.measure(now: clock.microseconds)
        case .work(let request):
            if !isTired, waiting.mayBegin(request) { begin(request) }
        }
    }

    /// Hands the response at the head to the output.
    ///
    /// - Returns: whether all of it has left.
    private func send(_ made: MadeResponse) -> Bool {
        switch made {
        case .lines(let bytes): return send(bytes)
        case .value(let response, let bytes):
            guard output.queuedBytes < SessionLimits.aheadBytesMax else { return false }
            ring.subtractSent(bytes)
            written += UInt64(output.receive(response))
            return true
        }
    }

    /// Hands lines to the network; many in pieces.
    ///
    /// - Returns: whether all of them have left.
    private func send(_ bytes: [UInt8]) -> Bool {
        while headSent < bytes.count {
            guard output.queuedBytes < SessionLimits.aheadBytesMax else { return false }
            let end = min(bytes.count, headSent + SessionLimits.aheadBytesMax)
            let isWhole = headSent == 0 && end == bytes.count
            output.write(isWhole ? bytes : Array(bytes[headSent..<end]))
            written += UInt64(end - headSent)
            ring.subtractSent(end - headSent)
            headSent = end
        }
        headSent = 0
        return true
    }

    private func begin(_ request: Request) {
        let number = ring.headNumber
        waiting.begin(request, at: number)
        let slot = ReplySlot(session: id, number: number)
        switch admin.begin(request, for: slot, on: state) {
        case .now(let response): fill(number, with: response)
        case .later(let reply): ring.head = .pending(reply)
        case .whenStored, .whenFirst, .reportWhenFirst, .beginWhenFirst:
            preconditionFailure("what has begun does not wait to begin")
        }
    }

    private func wait(for copies: Int, until deadline: UInt64) {
        let slot = ReplySlot(session: id, number: ring.headNumber)
        let writes = state.writes
        node.assumeIsolated { $0.wait(slot, for: writes, copies: copies, until: deadline) }
    }

    /// Has the token at the head wait for a majority of the owners, if it has to.
    private func awaitsMajority() -> Bool {
        let slot = ReplySlot(session: id, number: ring.headNumber)
        guard admin.awaitMajority(for: slot, on: state) else { return false }
        ring.head = .token(state)
        return true
    }

    private func tellAnswered() {
        guard !answered.isEmpty else { return }
        let now = clock.microseconds
        node.assumeIsolated { [answered] in $0.recordAnswers(answered, now: now) }
        for request in answered { node.debug(request.line(for: id, now: now)) }
        answered.removeAll(keepingCapacity: true)
    }
}
