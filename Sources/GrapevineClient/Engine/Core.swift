import Foundation

/// The client of one signed-in user, without threads: what the user does and what nodes answer and
/// tell go in; requests, stored changes and news come out.
///
/// Each call is a step: it changes the machines and the store as one, and only then has an effect.
/// If the store fails, the machines are as before. The caller calls everything on one thread, and
/// ``tick()`` when ``deadline`` has come.
final class Core {
    let user: String
    let store: Store
    let transport: any Transport
    let clock: any Clock
    /// Returns an id that nobody else makes.
    let makeID: () -> String
    private let device: String
    private let report: (News) -> Void
    private let refresh: (Set<String>) -> Void
    var machines: Machines
    /// The seconds after its sending within which a message can be edited, as nodes tell it.
    var editWindow = Message.editWindow
    /// The conversations that are shown, whose messages are kept up to date.
    var opened: Set<String> = []
    /// The conversation that the user is looking at, whose messages count as read.
    var viewed: String?
    /// Users whose profiles are to be read, and users whose profiles have been.
    var wantedProfiles: Set<String> = []
    var askedProfiles: Set<String> = []
    /// The rows of the list of chats that were read since the list was last asked for.
    var newerRows: Set<String> = []
    /// How often nodes that may lack what an operation is about have refused it.
    var misses: [UInt64: Int] = [:]
    /// The files of waiting operations that nodes have.
    var uploaded: Set<String> = []
    /// The lines of the list of chats as they are stored, without names of users.
    private(set) var lines: [String: Conversation] = [:]
    /// The messages of the conversations that the last step has touched and that are shown.
    var laid: [String: [Overlay.Laid]] = [:]
    private var waiters: [UInt64: (Result<Void, GrapevineError>) -> Void] = [:]
    /// Gets the entries of the log; nil if nobody reads it.
    var logger: ((LogEntry) -> Void)?
    /// The time since which a connection stands whose first operation is not sent yet.
    var connectedAt: Int64?
    var later: [(at: Int64, action: () -> Void)] = []
    private(set) var isEnded = false

    /// The most bytes of all files that wait: what nodes accept of a user's unsent files.
    static let fileBytesMax = 100 << 20

    /// The outlets of a client.
    struct Outlets {
        /// Gets what has changed, after it is stored.
        var report: (News) -> Void
        /// Gets, after each step, the conversations whose view may have changed.
        var refresh: (Set<String>) -> Void
    }

    /// - Parameters:
    ///   - store: the store of the user, with the sign-in.
    ///   - nodes: the number of nodes.
    /// - Throws: what the store cannot read; 401 in effect, as nil, if nobody is signed in.
    init?(
        store: Store, transport: any Transport, nodes: Int, clock: any Clock,
        makeID: @escaping () -> String, outlets: Outlets
    ) throws(StoreError) {
        guard let signIn = try store.signIn() else { return nil }
        let known = try store.device()
        let device = known?.name ?? makeID()
        user = signIn.user
        self.store = store
        self.transport = transport
        self.clock = clock
        self.makeID = makeID
        self.device = device
        report = outlets.report
        refresh = outlets.refresh
        let now = clock.elapsed
        machines = Machines(
            outbox: Outbox(
                operations: try store.operations(), lastNumber: known?.lastNumber ?? 0),
            link: Link(nodes: nodes), marks: Marks(stored: try store.ownMarks(), now: now),
            time: ServerTime(
                deviceTime: clock.deviceTime, elapsed: now, lastStamp: known?.lastStamp ?? 0),
            signIn: signIn)
        machines.token = try store.token()
        machines.sessionTokens = try store.sessionTokens()
        machines.isLoaded = try store.isLoaded()
        lines = Dictionary(
            try store.lines().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        try step { (step: inout Step) throws(StoreError) in
            for record in try store.conversations() where record.isStale {
                step.machines.reads.need(.row(record.id), now: now)
            }
        }
    }

    // MARK: Steps

    /// Runs a step, and then does what has become due by it.
    func step(_ body: (inout Step) throws(StoreError) -> Void) throws(StoreError) {
        guard !isEnded else { return }
        var step = Step(
            machines: machines, turn: Turn(store: store, user: user), now: clock.elapsed)
        try body(&step)
        advance(&step)
        let (touched, machines) = (step.turn.touched, step.machines)
        var changed: [String: Conversation?] = [:]
        do {
            try step.turn.commit { () throws(StoreError) in
                changed = try changedLines(of: touched, with: machines)
                return changed.map { StoreChange.line($0.value, conversation: $0.key) }
            }
        } catch {
            laid = [:]
            throw error
        }
        lines.merge(changed.compactMapValues(\.self)) { _, new in new }
        for (id, line) in changed where line == nil { lines[id] = nil }
        finish(step, touched)
    }

    /// Runs a step that changes only machines, after the store has failed.
    private func stepWithoutStore(_ body: (inout Step) throws(StoreError) -> Void) {
        var step = Step(
            machines: machines, turn: Turn(store: store, user: user), now: clock.elapsed)
        do {
            try body(&step)
        } catch {
            return  // It has read from the store, which fails.
        }
        laid = [:]
        finish(step, [])
    }

    /// Runs a step of an answer; where the store fails, it is as if no answer had come.
    func take(
        _ response: Response?, _ body: (inout Step, Response?) throws(StoreError) -> Void
    ) {
        guard !isEnded else { return }
        do {
            try step { (step: inout Step) throws(StoreError) in try body(&step, response) }
        } catch {
            stepWithoutStore { (step: inout Step) throws(StoreError) in try body(&step, nil) }
        }
    }

    private func finish(_ step: Step, _ touched: Set<String>) {
        let state = machines.link.state
        machines = step.machines
        for effect in step.effects { perform(effect) }
        guard !isEnded else { return }
        openPendingStream()
        if machines.link.state != state {
            logger?(entry(.info, "connection state=\(machines.link.state)"))
            report(.connection)
        }
        refresh(touched)
    }

    /// Logs a step when it is stored.
    func log(_ level: LogEntry.Level, _ text: @autoclosure () -> String, _ step: inout Step) {
        guard logger != nil else { return }
        step.effects.append(.log(entry(level, text())))
    }

    private func entry(_ level: LogEntry.Level, _ text: String) -> LogEntry {
        let now = Date(timeIntervalSince1970: Double(clock.deviceTime) / 1_000)
        return LogEntry(date: now, level: level, text: text)
    }

    /// Does what is due in a step.
    private func advance(_ step: inout Step) {
        step.machines.link.isEager = !step.machines.outbox.operations.isEmpty
        step.follow(step.machines.link.tick(now: step.now))
        step.machines.typing.tick(now: step.now)
        let state = step.machines.link.state
        guard step.machines.link.isConnected || state == .opening else {
            step.machines.typing.clear()
            return
        }
        guard step.machines.hasAccess(deviceTime: clock.deviceTime) else {
            return beginRenewal(&step)
        }
        guard step.machines.link.isConnected else { return step.machines.typing.clear() }
        sendOperations(&step)
        step.effects += step.machines.reads.begin(now: step.now).map(Step.Effect.ask)
        step.effects += step.machines.marks.due(now: step.now).map(Step.Effect.mark)
    }

    private func sendOperations(_ step: inout Step) {
        var time = step.machines.time
        let now = step.now
        let counter = UInt16(truncatingIfNeeded: device.utf8.reduce(0) { $0 &* 31 &+ Int($1) })
        let sent = step.machines.outbox.send(now: now) { operation in
            Operation.Stamp(
                device: device, number: operation.number,
                time: time.nextStamp(elapsed: now, counter: counter))
        }
        guard !sent.isEmpty else { return }
        step.machines.time = time
        for operation in sent where operation.stamp != nil { step.turn.add(.operation(operation)) }
        storeDevice(&step)
        step.effects += sent.map(Step.Effect.send)
        guard let connectedAt else { return }
        self.connectedAt = nil
        let seconds = Double(now - connectedAt) / 1_000
        let waiting = step.machines.outbox.operations.count
        log(.info, "sync started operations=\(waiting) sync_start_seconds=\(seconds)", &step)
    }

    private func storeDevice(_ step: inout Step) {
        step.turn.add(
            .device(
                device, lastNumber: step.machines.outbox.lastNumber,
                lastStamp: step.machines.time.lastStamp))
    }

    private func perform(_ effect: Step.Effect) {
        switch effect {
        case .link(.open(let node, let stream)):
            machines.pendingStream = (node, stream)
            machines.streamName = nil
        case .link(.close):
            machines.pendingStream = nil
            machines.streamName = nil
            transport.close()
        case .link(.probe(let node, let stream)): probe(node, for: stream)
        case .send(let operation): send(operation)
        case .ask(let ask): read(ask)
        case .mark(let mark): send(mark)
        case .type(let isTyping, let conversation, let stream):
            send(isTyping: isTyping, in: conversation, stream: stream)
        case .renew(let request): renew(request)
        case .settle(let number, let result): waiters.removeValue(forKey: number)?(result)
        case .call(let action): action()
        case .tell(let news): report(news)
        case .log(let entry): logger?(entry)
        }
    }

    // MARK: Time

    /// The time of ``Clock/elapsed`` at which ``tick()`` is to be called; nil if nothing is to be
    /// done by time.
    var deadline: Int64? {
        var times = [machines.link.deadline, machines.typing.deadline, later.map(\.at).min()]
        if machines.link.isConnected {
            times += [
                machines.outbox.deadline, machines.reads.deadline, machines.marks.deadline,
            ]
        }
        return times.compactMap(\.self).min()
    }

    /// Does what is due.
    func tick() {
        let now = clock.elapsed
        let due = later.filter { $0.at <= now }
        later.removeAll { $0.at <= now }
        for entry in due { entry.action() }
        take(nil) { (_: inout Step, _) in }
    }

    // MARK: What the app and the user do

    /// Connects to the cluster, or ends the connection.
    func set(_ wish: Link.Wish) {
        take(nil) { (step: inout Step, _) in
            step.follow(step.machines.link.set(wish, now: step.now))
        }
    }

    /// Tries at once, for instance because the network is usable again.
    func retry() {
        take(nil) { (step: inout Step, _) in
            step.machines.outbox.retry()
            step.follow(step.machines.link.retry(now: step.now))
        }
    }

    func enterForeground() {
        take(nil) { (step: inout Step, _) in
            step.follow(step.machines.link.enterForeground(now: step.now))
        }
    }

    /// Ends the client for good: the store may be closed then.
    func end() {
        transport.close()
        isEnded = true
        waiters = [:]
    }

    /// Stores an action of the user, which is shown at once and sent when it can be.
    ///
    /// - Parameters:
    ///   - files: the bytes of the action's files, by id.
    ///   - settled: gets the answer of a node, unless the client ends before.
    /// - Throws: what this device can judge, 429 if too many operations or files wait, and 507 if
    ///   the store fails.
    func act(
        _ action: Action, files: [String: Data] = [:],
        settled: @escaping (Result<Void, GrapevineError>) -> Void = { _ in }
    ) throws(GrapevineError) {
        let message = try visible(action)
        let now = Date(timeIntervalSince1970: Double(clock.deviceTime) / 1_000)
        if let error = action.refusal(user: user, message: message, now: now) { throw error }
        var refusal: GrapevineError?
        let created = clock.deviceTime
        let number = machines.outbox.nextNumber(created: created)
        waiters[number] = settled
        do {
            try step { (step: inout Step) throws(StoreError) in
                let id = action.conversation
                let epoch = try id.map { id throws(StoreError) in
                    try step.turn.conversation(id).epoch
                }
                let bytes = files.values.reduce(0) { $0 + $1.count }
                if bytes > 0, try self.store.fileBytes() + bytes > Self.fileBytesMax {
                    refusal = .tooManyWaiting
                    return
                }
                for (id, bytes) in files { step.turn.add(.file(bytes, id: id)) }
                do throws(GrapevineError) {
                    let operation = try step.machines.outbox.add(
                        action, created: created, epoch: epoch ?? 0)
                    step.turn.add(.operation(operation))
                    self.storeDevice(&step)
                    self.touch(action, &step)
                } catch {
                    refusal = error
                }
            }
        } catch {
            refusal = .notStored(error)
        }
        guard let refusal else { return }
        waiters[number] = nil
        throw refusal
    }

    /// Notes what views an action changes.
    func touch(_ action: Action, _ step: inout Step) {
        switch action.lane {
        case .conversation(let id):
            step.turn.touch(id)
            if case .send = action { step.machines.typing.noteSent(in: id) }
        case .items: step.tell(.items)
        case .profile: step.tell(.profiles)
        }
    }

    /// Notes that the user types, or does no more.
    func setTyping(_ isTyping: Bool, in conversation: String) {
        take(nil) { (step: inout Step, _) in
            let (link, stream) = (step.machines.link, step.machines.streamName)
            let told = step.machines.typing.set(
                isTyping, in: conversation, isConnected: link.isConnected && stream != nil,
                now: step.now)
            let words = "typing conversation=\(conversation) on=\(isTyping) sent=\(told != nil)"
            self.log(.debug, words + " connection=\(link.state)", &step)
            guard let told, let stream else { return }
            step.effects.append(.type(told, conversation: conversation, stream: stream))
        }
    }

    /// Notes that a conversation is shown, so that its messages are read and kept up to date.
    func open(_ conversation: String) {
        guard opened.insert(conversation).inserted else { return }
        take(nil) { (step: inout Step, _) in
            step.machines.reads.need(.history(conversation), now: step.now - Reads.gathering)
        }
    }

    /// Notes that a conversation is shown no more.
    func close(_ conversation: String) {
        opened.remove(conversation)
        if viewed == conversation { viewed = nil }
    }

    /// Notes which conversation the user is looking at: its messages count as read.
    func view(_ conversation: String?) {
        viewed = conversation
        guard let conversation else { return }
        take(nil) { (step: inout Step, _) throws(StoreError) in
            let last = try self.stretch(of: conversation).last(where: self.isOfOthers)
            if let last { try self.set(.read, upTo: last, in: conversation, &step) }
        }
    }

    func isOfOthers(_ record: MessageRecord) -> Bool {
        record.content.map { $0.sender != user } ?? false
    }

    /// Notes that this device has a message of another user.
    func noteReceived(
        _ message: MessageRecord, in conversation: String, _ step: inout Step
    ) throws(StoreError) {
        // Who has read a message has received it.
        let kind = viewed == conversation ? Marks.Kind.read : .delivered
        try set(kind, upTo: message, in: conversation, &step)
    }

    /// Notes up to which message the user has read or received a conversation.
    func set(
        _ kind: Marks.Kind, upTo message: MessageRecord, in conversation: String,
        _ step: inout Step
    ) throws(StoreError) {
        guard let sent = message.sent else { return }
        let known = try step.turn.mark(of: user, in: conversation)
        let told = kind == .read ? known?.read : known?.delivered
        if let told, told.sent >= sent { return }
        let mark = Marks.Mark(
            conversation: conversation, kind: kind, message: message.id, sent: sent)
        guard step.machines.marks.set(mark, now: step.now) else { return }
        step.turn.add(.ownMark(mark, conversation: conversation, kind: kind))
        step.turn.touch(conversation)
    }
}
