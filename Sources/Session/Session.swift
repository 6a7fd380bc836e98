import Admin
import LineProtocol
import Node
import Replication
import Wire

/// A client's connection without its socket: lines come in, replies leave in the order of the
/// lines.
///
/// Each line has a slot in a ring; its reply leaves when it is settled and at the head. While a
/// client does not read, or has asked for too much at once, its lines wait unread.
package actor Session: ReplySink, SessionInput {
    package nonisolated let id: UInt64
    private nonisolated let executor: any SerialExecutor
    private let node: Node
    private let admin: Admin
    private let clock: any Clock
    private let output: any SessionOutput
    /// The memory budget of all sessions; nil if there is no limit.
    private let memory: ClientMemory?
    var state: ConnectionState
    private(set) var signIn: SignIn

    private var cutter = LineCutter()
    private var slots: [Slot] = []
    /// The requests of `slots`.
    private var asked: [RequestTrace] = []
    /// When the last bytes were read, in microseconds: all unanswered lines came with them.
    private var readAt: UInt64 = 0
    /// Replies that have left and are not reported to the node yet; empty between turns.
    private var answered: [AnsweredRequest] = []
    /// The index in `slots` of the next reply to leave.
    private var head = 0
    /// The number of the slot at the head.
    private var headNumber: UInt64 = 0
    /// The bytes of replies in `slots`.
    private var replyBytes = 0
    /// The number of bytes of the reply at the head that have left.
    private var headSent = 0
    private var waiting: WaitingEvents
    private var backlog = Backlog()
    /// A request that waits for memory for its reply; all that follows it waits, too.
    private var crowdedOut: (request: Request, asked: RequestTrace)?
    private var estimated = ReplySizeEstimate()
    private var share = TurnShare()
    /// The number of bytes ever written.
    private var written: UInt64 = 0
    /// The bytes that `ClientMemory` was last told of.
    private var notedBytes = 0
    /// The number of an unanswered request that must not see the effects of later ones.
    private var moving: UInt64?
    private var isPaused = false
    private var isHeld = false
    private var isEnding = false
    private var hasCutEnd = false
    /// Whether nothing more is written.
    private var hasFinished = false
    /// Whether further lines are ignored.
    private var isTurnedAway = false

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
        if isMovedOnBySending(), !backlog.isEmpty { return continueBacklog() }
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
        append(.ready(error.reply), to: .nothing(readAt: readAt))
        isTurnedAway = true
        isEnding = true
        hasCutEnd = true
        continueBacklog()
    }

    /// Whether replies wait for the disk, for co-owners or for time.
    package var isAnswering: Bool { head < slots.count }

    /// Handles the end of the connection.
    package func onClosed() {
        hasFinished = true
        slots = []
        asked = []
        head = 0
        headSent = 0
        replyBytes = 0
        backlog = Backlog()
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
            || slots.count - head >= SessionLimits.slotsMax || isHoldingMuch
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
        let bytes = replyBytes + waiting.bytesUntaken
        guard bytes >= SessionLimits.freeBytes else { return false }
        let isTight = memory?.assumeIsolated { $0.isTight } ?? false
        return isTight || bytes >= SessionLimits.replyBytesMax
    }

    private func answer(_ cut: LineCutter.LineEvent) {
        guard !isTurnedAway else { return }
        switch cut {
        case .line(let line): answer(line)
        case .tooLong: say(signIn.onNonsense(.lineTooLong), to: .nothing(readAt: readAt))
        case .notEnded: say(signIn.onNonsense(.lineNotEnded), to: .nothing(readAt: readAt))
        }
        if memory != nil { share.noteLine(now: clock.microseconds) }
    }

    private func answer(_ line: UnsafeRawBufferPointer) {
        var traits: Verb.Traits?
        do throws(LineError) {
            let request = try Request.parse(line, traits: &traits) { node.mintID() }
            guard let request else { return }
            let asked = RequestTrace(of: request, traits, readAt: readAt)
            if isHeard(request, asked) { answer(signIn.made(request), asked) }
        } catch {
            let asked = RequestTrace(ofWrongLine: traits, readAt: readAt)
            say(signIn.onNonsense(error), to: asked)
        }
    }

    /// Whether the request may be answered; if not, the client has been told so.
    private func isHeard(_ request: Request, _ asked: RequestTrace) -> Bool {
        let verdict: SignIn.Verdict
        if case .auth(let secret) = request {
            verdict = signIn.onSecret(secret, of: id)
        } else if signIn.isDone {
            guard let refusal = signIn.user.flatMap({ request.refusal(for: $0) }) else {
                return true
            }
            verdict = .told(refusal)
        } else {
            verdict = signIn.onEarly(request)
        }
        if verdict == .heard { return true }
        say(verdict, to: asked)
        return false
    }

    /// Replies to a line that is not answered as a request.
    private func say(_ verdict: SignIn.Verdict, to asked: RequestTrace) {
        switch verdict {
        case .heard: break
        case .signedIn: append(.ready(SignIn.welcome), to: asked)
        case .told(let error): append(.ready(error.reply), to: asked)
        case .turnedAway(let error):
            append(.ready(error.reply), to: asked)
            isTurnedAway = true
            isEnding = true
            hasCutEnd = true
        }
    }

    private func answer(_ request: Request, _ asked: RequestTrace) {
        let bytes = asked.replyBytesEstimated(of: request)
        guard bytes == 0 || hasMemory(for: bytes) else {
            crowdedOut = (request, asked)
            memory?.assumeIsolated { [id, source] in $0.wait(id, of: source, for: bytes) }
            return
        }
        let number = headNumber + UInt64(slots.count - head)
        let slot = ReplySlot(session: id, number: number)
        switch admin.answer(request, for: slot, on: &state) {
        case .now(let bytes): append(.ready(bytes), to: asked)
        case .later(let reply):
            if reply.isMadeElsewhere {
                estimated.add(bytes, for: number)
                if node.assumeIsolated({ $0.isGathering(slot) }) { moving = number }
            }
            append(.pending(reply), to: asked)
        case .whenFirst(let copies, let milliseconds):
            append(
                .whenFirst(copies: copies, deadline: clock.milliseconds + milliseconds), to: asked)
        case .reportWhenFirst(let request):
            moving = number
            append(.report(request), to: asked)
        case .beginWhenFirst(let request):
            moving = number
            append(.work(request), to: asked)
        }
    }

    private func append(_ slot: consuming Slot, to asked: RequestTrace) {
        replyBytes += slot.bytesCount
        slots.append(slot)
        self.asked.append(asked)
    }

    private func continueBacklog() {
        beginShare()
        sendReplies()
        repeat {
            if takeBacklog() { node.assumeIsolated { $0.turnAgain() } }
        } while isMovedOnBySending() && !backlog.isEmpty
        if isEnding, backlog.isEmpty, !hasCutEnd, !isFull {
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

    /// - Returns: whether any lines were taken.
    private func takeBacklog() -> Bool {
        guard !backlog.isEmpty, !isFull else { return false }
        var rest = Backlog()
        swap(&rest, &backlog)
        defer { backlog = rest }
        return rest.feed { cutter.feed($0, while: { !isFull }, { answer($0) }) }
    }

    private func updateReading() {
        let isPaused = isFull || !backlog.isEmpty
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        output.setReadingPaused(isPaused)
    }
}

// MARK: Memory

extension Session {
    private func hasMemory(for bytes: Int, isMeasured: Bool = false) -> Bool {
        memory?.assumeIsolated { [source] in
            $0.hasCapacity(for: bytes, of: source, isMeasured: isMeasured)
        } ?? true
    }

    /// Reports to `ClientMemory` what this session holds.
    private func noteHeld() {
        guard let memory, !hasFinished else { return }
        let queued = output.queuedBytes
        let held =
            cutter.keptCount + backlog.count + replyBytes + estimated.bytes + queued
            + waiting.ownBytes
        let shared = waiting.sharedBytes
        guard max(held + shared, notedBytes) > SessionLimits.freeBytes else { return }
        notedBytes = held + shared
        // More may be queued than was written, since TLS may add to it.
        let (taken, now) = (written - min(written, UInt64(queued)), clock.milliseconds)
        let isItsTurn = queued > 0 || cutter.keptCount > SessionLimits.freeBytes
        memory.assumeIsolated { [id, source] in
            $0.recordHeld(
                id, of: source, holds: held, sharing: shared, isItsTurn: isItsTurn, taken: taken,
                now: now)
        }
    }

    /// Forgets what was estimated for a reply before its size was known.
    func dropEstimate(of number: UInt64) {
        estimated.remove(number)
        noteHeld()
    }

    /// Reserves memory for a list or a part of it; false where there is none (`ReplySink`).
    func reserve(_ bytes: Int, for number: UInt64, isFurther: Bool) -> Bool {
        let held = min(bytes * SessionLimits.listBytesHeld, SessionLimits.heldBytesMax / 2)
        guard isFurther || hasMemory(for: held, isMeasured: true) else { return false }
        estimated.add(held, for: number)
        noteHeld()
        return true
    }

    /// Whether there is no memory for the line that has not ended.
    private var isLineTooMuch: Bool {
        guard let memory, cutter.keptCount > SessionLimits.freeBytes else { return false }
        return memory.assumeIsolated { $0.isSpent }
    }

    private func refuseLine() {
        guard cutter.keptCount > 0 else { return }
        cutter.skip()
        append(.ready(LineError.noMemoryForLine.reply), to: .nothing(readAt: readAt))
        noteHeld()
    }
}

// MARK: Replies

extension Session {
    func settle(_ number: UInt64, _ outcome: ReplyResult) {
        guard number >= headNumber else { return }
        let index = head + Int(number - headNumber)
        guard index < slots.count else { return }
        switch slots[index] {
        case .pending:
            guard case .pending(let reply) = slots[index].exchange() else { return }
            replyBytes -= reply.bytesCount
            if reply.isMadeElsewhere { estimated.remove(number) }
            let (bytes, write) = reply.settle(outcome)
            if let write { state.recordWrite(write, isHere: reply.isWrittenHere) }
            if !reply.seen.isEmpty { state.recordObservations(reply.seen) }
            if outcome == .level { state.isStrict = true }
            fill(index, with: bytes)
        case .waiting:
            fill(index, with: Admin.reply(toWait: outcome))
        case .token(let connection):
            if case .copies(_, isEnough: true) = outcome { state.noteOnMajority(connection) }
            fill(index, with: admin.report(.token, to: connection))
        case .ready, .whenFirst, .report, .work:
            return
        }
    }

    /// Sends what may leave after replies were settled, and continues with waiting lines.
    func sendSettled() {
        if share.isSpent { beginShare() }
        guard head < slots.count, case .ready = slots[head] else { return noteHeld() }
        sendReplies()
        endShare()
        noteHeld()
        if !backlog.isEmpty || isPaused || isEnding { continueBacklog() }
    }

    private func fill(_ index: Int, with bytes: [UInt8]) {
        replyBytes += bytes.count - slots[index].bytesCount
        slots[index] = .ready(bytes)
        if moving == headNumber + UInt64(index - head) { moving = nil }
    }

    /// Writes every settled reply that has no unsettled one before it.
    private func sendReplies() {
        sendEvents()
        while head < slots.count {
            beginHead()
            if isHeadReady { waiting.holdReply() }
            sendEvents()
            guard case .ready(let bytes) = slots[head], !(mayTell && waiting.isNextDue), send(bytes)
            else { break }
            waiting.passReply()
            answered.append(asked[head].answered(by: bytes))
            slots[head] = .waiting
            head += 1
            headNumber += 1
        }
        sendEvents()
        tellAnswered()
        compact()
        guard isOver, !hasFinished else { return }
        guard waiting.isEmpty else {
            return node.assumeIsolated { [id] in $0.onEventsLeft(for: id) }
        }
        hasFinished = true
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
        output.finish()
    }

    private var isHeadReady: Bool {
        if case .ready = slots[head] { true } else { false }
    }

    /// Begins a request that had to wait until it was at the head.
    private func beginHead() {
        switch slots[head] {
        case .ready, .pending, .token, .waiting: return
        case .whenFirst(let copies, let deadline):
            slots[head] = .waiting
            wait(for: copies, until: deadline)
        case .report(let request):
            // While the client's queue is full, a report waits to be made.
            guard output.queuedBytes < SessionLimits.replyBytesMax, !isTired else { return }
            if case .token = request, awaitsMajority() { return }
            fill(head, with: admin.report(request, to: state))
            share.measure(now: clock.microseconds)
        case .work(let request):
            if !isTired, waiting.mayBegin(request) { begin(request) }
        }
    }

    /// Hands the reply at the head to the network; a long one in pieces.
    ///
    /// - Returns: whether all of it has left.
    private func send(_ bytes: [UInt8]) -> Bool {
        while headSent < bytes.count {
            guard output.queuedBytes < SessionLimits.aheadBytesMax else { return false }
            let end = min(bytes.count, headSent + SessionLimits.aheadBytesMax)
            let isWhole = headSent == 0 && end == bytes.count
            output.write(isWhole ? bytes : Array(bytes[headSent..<end]))
            written += UInt64(end - headSent)
            replyBytes -= end - headSent
            headSent = end
        }
        headSent = 0
        return true
    }

    private func begin(_ request: Request) {
        waiting.begin(request, at: headNumber)
        let slot = ReplySlot(session: id, number: headNumber)
        switch admin.begin(request, for: slot, on: state) {
        case .now(let bytes): fill(head, with: bytes)
        case .later(let reply): slots[head] = .pending(reply)
        case .whenFirst, .reportWhenFirst, .beginWhenFirst:
            preconditionFailure("what has begun does not wait to begin")
        }
    }

    private func wait(for copies: Int, until deadline: UInt64) {
        let slot = ReplySlot(session: id, number: headNumber)
        let writes = state.writes
        node.assumeIsolated { $0.wait(slot, for: writes, copies: copies, until: deadline) }
    }

    /// Has the token at the head wait for a majority of the owners, if it has to.
    private func awaitsMajority() -> Bool {
        let slot = ReplySlot(session: id, number: headNumber)
        guard admin.awaitMajority(for: slot, on: state) else { return false }
        slots[head] = .token(state)
        return true
    }

    private func tellAnswered() {
        guard !answered.isEmpty else { return }
        let now = clock.microseconds
        node.assumeIsolated { [answered] in $0.recordAnswers(answered, now: now) }
        for request in answered { node.debug(request.line(for: id, now: now)) }
        answered.removeAll(keepingCapacity: true)
    }

    private func compact() {
        if head == slots.count {
            slots.removeAll(keepingCapacity: slots.count <= SessionLimits.slotsMax)
            asked.removeAll(keepingCapacity: slots.count <= SessionLimits.slotsMax)
            head = 0
        } else if head >= SessionLimits.slotsMax {
            slots.removeFirst(head)
            asked.removeFirst(head)
            head = 0
        }
    }
}

// MARK: Events

extension Session {
    /// Whether the client's input has ended and all of its requests are answered.
    private var isOver: Bool { isEnding && hasCutEnd && slots.isEmpty && backlog.isEmpty }

    /// Whether an event may be written at this point, which is not inside a reply.
    private var mayTell: Bool { headSent == 0 && waiting.mayLeave(before: headNumber) }

    /// - Returns: whether the client is full.
    func tell(_ event: WatchedEvent, _ token: String?) -> Bool {
        guard !hasFinished, !isOver else { return false }
        written += UInt64(waiting.appendEvent(event, token, mayLeave: mayTell))
        noteHeld()
        // A client that resumes with its last token gets the rest.
        let isSpent = memory?.assumeIsolated { $0.isSpent } ?? false
        let bytesMax = isSpent ? SessionLimits.freeBytes : SessionLimits.eventBytesMax
        guard waiting.bytesUntaken < bytesMax else {
            abort()
            return false
        }
        return noteFull()
    }

    private func sendEvents() { written += UInt64(waiting.send(mayLeave: mayTell)) }

    /// Notes whether the client is full, and disconnects one that has been so for too long: its
    /// last token resumes.
    func noteFull() -> Bool {
        guard !hasFinished else { return false }
        let pace = waiting.pace(isEnding: isOver, now: clock.milliseconds)
        if pace == .tooLittleForLong { abort() }
        return pace == .tooLittle
    }

    /// Ends the connection at once and drops all that waits for its client.
    private func abort() {
        hasFinished = true
        waiting.removeAll()
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
        output.abort()
    }
}
