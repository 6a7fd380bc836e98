import Foundation

@testable import GrapevineClient

/// A message as a view shows it.
struct SeenMessage: Equatable, CustomStringConvertible {
    let id: String
    let text: String
    let pinnedBy: String?
    let isEdited: Bool
    let isRetracted: Bool

    var description: String {
        id + " “" + text + "”" + (isEdited ? " edited" : "") + (isRetracted ? " retracted" : "")
            + (pinnedBy.map { " pinned by " + $0 } ?? "")
    }
}

extension SeenMessage {
    init(_ message: Message) {
        self.init(
            id: message.id, text: message.text, pinnedBy: message.pinnedBy,
            isEdited: message.wasEdited, isRetracted: message.isDeletedForEveryone)
    }

    init(_ message: ModelMessage) {
        self.init(
            id: message.id, text: message.text, pinnedBy: message.pinnedBy,
            isEdited: message.edited != nil, isRetracted: message.deletedAt != nil)
    }
}

/// A device of a user, and the client on it, which may end at any moment.
final class ModelClient {
    let name: String
    let user: String
    let cluster: ModelCluster
    let line = ModelLine()
    let clock: DeviceClock
    /// The path of the store, or nil for one in memory, which outlives the client.
    private let path: String?
    private var store: Store
    /// The conversation that the user is looking at.
    private(set) var viewed: String?
    private(set) var core: Core?
    private var transport: ModelTransport?
    private var armed: Int64 = .max
    private var generation = 0
    private var ids = 0
    private var lastTick: (at: Int64, count: Int) = (0, 0)
    /// The conversations whose views are to be looked at.
    private var touched: Set<String> = []
    /// What views show.
    var shown: [String: [SeenMessage]] = [:]
    let memory: ModelMemory
    private(set) var violations: [String] = []
    /// What became of the operations, by number.
    private(set) var refused: Set<UInt64> = []
    private(set) var refusals: [Refusal] = []
    /// The refusals that were told when the app ended, before they were deleted.
    private var retold: Set<UInt64> = []
    private(set) var settled: Set<UInt64> = []
    private var actions: [UInt64: Action] = [:]
    /// Whether the app has ended at a commit, and is only to be taken down: it does nothing more.
    private(set) var isOver = false
    var trace: (String) -> Void = { _ in }

    init(
        _ name: String, user: String, at cluster: ModelCluster, lead: Int64, path: String? = nil
    ) throws(StoreError) {
        self.name = name
        self.user = user
        self.cluster = cluster
        self.path = path
        clock = DeviceClock(cluster.clock, lead: lead)
        memory = ModelMemory(user: user)
        store = try Store(path: path ?? ":memory:")
        try store.commit([.signIn(cluster.signIn(user, deviceTime: clock.deviceTime))])
    }

    /// Starts the app.
    ///
    /// - Parameter count: the commit of its start at which it ends again.
    func start(_ conversations: [String], endingAt count: Int? = nil) throws(StoreError) {
        if let path { store = try Store(path: path) }
        store.forgetCaches()
        store.beforeCommit = {}
        isOver = false
        try forget()
        generation += 1
        let network = ModelTransport(cluster, line)
        let present = generation
        network.told = { [weak self] in
            guard let self, generation == present else { return }
            arm()
        }
        transport = network
        if let count { crash(atCommit: count, isDone: count % 2 == 0) }
        do throws(StoreError) {
            core = try newCore(network)
        } catch {
            guard isOver else { throw error }
        }
        armed = .max
        touched.formUnion(conversations)
        core?.set(.connected)
        takeRefusals()
        for id in conversations { core?.open(id) }
        view(viewed)
    }

    private func newCore(_ network: ModelTransport) throws(StoreError) -> Core? {
        try Core(
            store: store, transport: network, nodes: cluster.nodes.count, clock: clock,
            makeID: { [unowned self] in newID() },
            outlets: Core.Outlets(
                report: { [unowned self] in note($0) },
                refresh: { [unowned self] in touched.formUnion($0) }))
    }

    /// Has the store lack what a planted fault leaves out.
    private func forget() throws(StoreError) {
        for var record in try store.conversations() {
            switch cluster.fault {
            case .staleRowsForgotten: record.isStale = false
            case .ownChangesForgotten: record.written = nil
            default: continue
            }
            try store.commit([.conversation(record)])
        }
    }

    /// Has the user look at a conversation.
    func view(_ conversation: String?) {
        trace("\(name) views \(conversation ?? "nothing")")
        viewed = conversation
        core?.view(conversation)
        arm()
    }

    /// Ends the app without warning.
    func crash() {
        core?.end()
        core = nil
        violations += transport?.violations ?? []
        transport = nil
        generation += 1
    }

    /// Ends the app without warning at one of its next commits.
    ///
    /// - Parameters:
    ///   - count: the commit, from 1 on.
    ///   - isDone: whether the commit is the last thing that happens, or does not happen any more.
    func crash(atCommit count: Int, isDone: Bool) {
        var left = count
        store.beforeCommit = { [unowned self] () throws(StoreError) in
            left -= 1
            guard left <= 0 else { return }
            let isFirst = !isOver
            isOver = true
            if isFirst, !isDone { retold = refused }
            mute()
            if isFirst { cluster.clock.after(0) { [self] in crash() } }
            if isFirst, isDone { return }
            throw StoreError(code: 0, message: "The app has ended")
        }
    }

    /// Has the app end at no commit from here on.
    func endsNoMore() {
        if isOver { crash() }
        store.beforeCommit = {}
    }

    /// Has nothing leave the device any more: what the app does is stored at most.
    func mute() { transport?.isMute = true }

    func newID() -> String {
        ids += 1
        let first = ["a", "b", "c", "d"][ids % 4]
        return "\(first)\(ids)-\(name)"
    }

    /// Has the app take the refusals that it was not told, and come back for more.
    private func takeRefusals() {
        guard !isOver else { return }
        do throws(StoreError) {
            let told = try store.refusals()
            for refusal in told { note(refusal) }
            try store.commit(told.map { .refusal(nil, number: $0.number) })
        } catch {
            if !isOver { violations.append("\(error)") }
        }
    }

    private func note(_ refusal: Refusal) {
        if refused.insert(refusal.number).inserted {
            refusals.append(refusal)
        } else if retold.remove(refusal.number) == nil {
            violations.append("The refusal of \(refusal.number) is told twice")
        }
        if let action = actions[refusal.number] { memory.forget(action, refusal.number) }
    }

    private func note(_ news: News) {
        guard !isOver else { return }
        trace("\(name) \(news)")
        switch news {
        case .refused: takeRefusals()
        case .signedOut: violations.append("\(name) was signed out")
        default: break
        }
    }

    // MARK: Time

    /// Has the client called when its deadline comes.
    func arm() {
        guard let core, let deadline = core.deadline else { return }
        let at = max(deadline, clock.elapsed + 1)
        guard at < armed else { return }
        armed = at
        let present = generation
        cluster.clock.after(at - clock.elapsed) { [self] in
            guard generation == present, armed == at else { return }
            armed = .max
            noteTick()
            self.core?.tick()
            arm()
        }
    }

    private func noteTick() {
        lastTick.count = clock.elapsed == lastTick.at + 1 ? lastTick.count + 1 : 0
        lastTick.at = clock.elapsed
        if lastTick.count == 50 {
            violations.append("\(name) is called each millisecond: its deadline is past")
        }
    }

    // MARK: What the user does

    private func settle(_ number: UInt64, _ result: Result<Void, GrapevineError>) {
        guard !isOver else { return }
        if !settled.insert(number).inserted {
            violations.append("Operation \(number) is settled twice")
        }
        if case .success = result, refused.contains(number) {
            violations.append("Operation \(number) is accepted and refused")
        }
    }

    /// Performs an action, and returns the number of its operation; nil if the app has ended.
    @discardableResult
    func act(
        _ action: Action, files: [String: Data] = [:]
    ) throws(GrapevineError) -> UInt64? {
        guard let core, !isOver else { return nil }
        var number: UInt64 = 0
        do throws(GrapevineError) {
            try core.act(action, files: files) { [self] result in settle(number, result) }
        } catch {
            if isOver { return nil }
            throw error
        }
        number = core.machines.outbox.lastNumber
        actions[number] = action
        trace("\(name) \(number) \(action)")
        do {
            memory.note(action, number, isKnown: try isKnown(action))
        } catch {
            violations.append("\(error)")
        }
        arm()
        return number
    }

    /// Whether the device has the message of an action, which no hiding of the user's hides.
    ///
    /// A message of which nothing is known any more is shown when a node has told it.
    private func isKnown(_ action: Action) throws(StoreError) -> Bool {
        let (id, conversation) = (action.message ?? "", action.conversation ?? "")
        let hides = core?.machines.outbox.operations.contains { operation in
            if case .hide(conversation, _) = operation.action { return true }
            return false
        }
        let record = try store.message(id, in: conversation)
        return hides == false && record?.content != nil
    }

    /// The name of an operation at nodes, after its number.
    func operationName(_ number: UInt64) throws(StoreError) -> String {
        "\(try store.device()?.name ?? "").\(number)"
    }

    // MARK: Views

    func messages(_ conversation: String) throws(StoreError) -> [SeenMessage] {
        try core?.snapshot(of: conversation).messages.map(SeenMessage.init) ?? []
    }

    func lists(_ conversation: String) throws(StoreError) -> Bool {
        try core?.listed(conversation) != nil
    }

    /// The time at which the last confirmed message that the user sees was sent.
    func lastSent(_ conversation: String) throws(StoreError) -> ExactTime? {
        var last: ExactTime?
        for message in shown[conversation] ?? [] {
            last = later(last, try store.message(message.id, in: conversation)?.sent)
        }
        return last
    }

    func record(_ id: String, in conversation: String) throws(StoreError) -> MessageRecord? {
        try store.message(id, in: conversation)
    }

    /// Returns the conversations whose views may have changed, and forgets that.
    func takeTouched() -> [String] {
        defer { touched = [] }
        return touched.sorted()
    }

    /// The requests that the app has sent since it was started.
    var requests: [String] { transport?.requests ?? [] }

    /// The violations that the client and its network have found.
    var allViolations: [String] { violations + (transport?.violations ?? []) }
}
