import Admin
import LineProtocol
import Node
import Replication

/// A client's connection without its socket: requests come in, as lines or as values, and responses
/// leave in the order of the requests.
///
/// Each request has a slot in a ring; a settled response is sent after all earlier responses.
/// Requests wait while the client does not read, or while too much waits for the client.
package actor Session: ReplySink, SessionInput {
    package nonisolated let id: UInt64
    private nonisolated let executor: any SerialExecutor
    let node: Node
    private let admin: Admin
    private let ackLevel: Replication.AckLevel
    let clock: any Clock
    let output: any SessionOutput
    /// Whether the client sends lines, and no requests are submitted as values.
    private let isOfLines: Bool
    /// The memory budget of all sessions; nil if there is no limit.
    let memory: ClientMemory?
    var state: ConnectionState
    var signIn: SignIn

    var cutter = LineCutter()
    var ring = SlotRing()
    /// The time of the last read, in microseconds; all unparsed lines ended in that read.
    var readAt: UInt64 = 0
    /// The requests whose replies were sent but are not reported to the node's metrics yet.
    private var answered: [AnsweredRequest] = []
    /// The number of bytes that were already sent of the reply at the head.
    var headSent = 0
    var waiting: WaitingEvents
    var backlog = Backlog()
    /// The requests submitted as values that wait to be answered; the submitter stops while the
    /// session pauses reading.
    private(set) var submitted: [(request: Request, asked: RequestTrace)] = []
    /// A request that waits for memory for its reply; the session's later requests wait, too.
    private var crowdedOut: (request: Request, asked: RequestTrace)?
    var estimated = ReplySizeEstimate()
    var share = TurnShare()
    /// The number of bytes written since the client connected.
    var written: UInt64 = 0
    /// The number of bytes that was last reported to `ClientMemory`.
    var notedBytes = 0
    /// The number of an unanswered request that must not see the effects of later requests.
    private var moving: UInt64?
    private var isPaused = false
    private var isHeld = false
    var isEnding = false
    var hasCutEnd = false
    /// Whether the session writes nothing more to its client.
    var hasFinished = false
    /// Whether the session ignores all further lines, since it is closing the connection.
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
        isOfLines = !(output is any ValueOutput)
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

    /// Answers a request that was submitted as a value; the output receives the response.
    ///
    /// - Parameters:
    ///   - traits: the traits of the request's verb; nil for a request of the node itself, which is
    ///     not counted.
    ///   - isWithToken: whether the output receives the session token as another response.
    package func submit(
        _ request: Request, _ traits: Verb.Traits?, withToken isWithToken: Bool = false
    ) {
        readAt = clock.microseconds
        submitted.append((request, RequestTrace(submitted: request, traits, readAt: readAt)))
        if isWithToken {
            submitted.append((.token, RequestTrace(submitted: .token, nil, readAt: readAt)))
        }
        beginShare()
        _ = takeBacklog()
        noteHeld()
        finishInput()
    }

    /// Resets the client's settings and the record of its writes and reads to their initial state.
    ///
    /// - Returns: false if a request waits for its response, or if events may follow; the session
    ///   is then unchanged.
    package func startAnew() -> Bool {
        guard ring.isEmpty, !hasBacklog, crowdedOut == nil, !waiting.hasWatched, !isEnding,
            !hasFinished, !node.assumeIsolated(with: id, { $0.hasReadBarriers(of: $1) })
        else { return false }
        state = ConnectionState(ackLevel: ackLevel)
        return true
    }

    /// Sends the replies that are ready after new input was processed.
    private func finishInput() {
        if isMovedOnBySending(), hasBacklog { return continueBacklog() }
        endShare()
        noteHeld()
        updateReading()
    }

    /// Handles the end of the client's input; the client's earlier requests are still answered.
    package func onEnd() {
        isEnding = true
        continueBacklog()
    }

    /// Continues with waiting requests after the client has read some of the written bytes.
    package func onDrained() { continueBacklog() }

    /// Continues in the next iteration of the event loop, after the session had used up its share.
    package func onTurn() {
        share.isWaiting = false
        continueBacklog()
    }

    /// Answers the request that waited for memory, and continues with later requests.
    package func onMemoryFreed() {
        guard let (request, asked) = crowdedOut else { return }
        crowdedOut = nil
        answer(request, asked)
        node.assumeIsolated { $0.turnAgain() }
        continueBacklog()
    }

    /// Disconnects a stalled client or refuses its unfinished line, because memory is tight.
    package func onStalled() {
        guard !hasFinished else { return }
        if output.queuedBytes > 0 {
            abort()
        } else {
            refuseLine()
            continueBacklog()
        }
    }

    /// Sets whether the session stops reading lines because the node is overloaded.
    ///
    /// With true, this method may be called while a line is answered: it only pauses reading.
    package func setHeld(_ isHeld: Bool) {
        self.isHeld = isHeld
        if isHeld { updateReading() } else { continueBacklog() }
    }

    /// Ends the connection with this error, after all earlier requests were answered.
    package func turnAway(_ error: LineError) {
        append(.failed(error), to: .nothing(readAt: readAt))
        isTurnedAway = true
        isEnding = true
        hasCutEnd = true
        continueBacklog()
    }

    /// Whether a request is unanswered: its reply may wait for the disk, for co-owners or for time.
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
    private var isFull: Bool { moving != nil || isOverloaded }

    private var isOverloaded: Bool {
        isHeld || crowdedOut != nil || isTired || ring.count >= SessionLimits.slotsMax
            || isHoldingMuch
    }

    /// Whether the session has used up its share of this iteration of the event loop.
    private var isTired: Bool { memory != nil && share.isSpent }

    private func beginShare() {
        guard let grant = memory?.assumeIsolated(with: (), { memory, _ in memory.grant })
        else { return }
        share.begin(grant, now: clock.microseconds)
    }

    /// Ends the measurement; a session that has used up its share continues in the next iteration.
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

    /// Whether so many bytes wait for the client that the session processes no more requests.
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

    /// Sends the replies that are ready.
    ///
    /// - Returns: true if this answered a request for which later requests had to wait.
    private func isMovedOnBySending() -> Bool {
        let wasMoving = moving != nil
        sendReplies()
        return wasMoving && moving == nil
    }

    var hasBacklog: Bool { !backlog.isEmpty || !submitted.isEmpty }

    /// - Returns: true if the session has processed any of the waiting input.
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
        // Most HTTP requests are followed by a request that delays later ones, for the token of
        // the response; the connection's reading pauses only once there is a later request.
        let isPaused = isOverloaded || hasBacklog || isOfLines && moving != nil
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

    /// Sends the replies that were settled, and continues with waiting requests.
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

    /// Sends every settled reply that no unsettled reply precedes, and the events between them.
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

    /// Begins the request at the head if the request had to wait for all earlier replies.
    private func beginHead() {
        switch ring.head {
        case .ready, .held, .pending, .token, .waiting: return
        case .whenFirst(let copies, let deadline):
            ring.head = .waiting
            wait(for: copies, until: deadline)
        case .report(let request):
            // A report is not made while the client's output queue is full.
            guard output.queuedBytes < SessionLimits.replyBytesMax, !isTired else { return }
            if case .token = request, awaitsMajority() { return }
            fill(ring.headNumber, with: admin.report(request, to: state))
            share.measure(now: clock.microseconds)
        case .work(let request):
            if !isTired, waiting.mayBegin(request) { begin(request) }
        }
    }

    /// Passes the response at the head to the output.
    ///
    /// - Returns: true if the whole response was passed on.
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

    /// Passes lines to the network, a long reply in pieces.
    ///
    /// - Returns: true if all lines were passed on.
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

    /// Delays the token at the head until a majority of the owners stores all that it names.
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
