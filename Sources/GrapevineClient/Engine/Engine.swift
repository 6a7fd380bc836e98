import Dispatch
import Foundation

/// The actor of a client: it owns the store and the core of the signed-in user, and tells observers
/// what has changed.
///
/// All that it does is done at once, without a suspension within a step.
actor Engine {
    /// What an observer looks at.
    enum Topic: Hashable {
        case chats
        case connection
        case items
        case messages(String)
        case profiles
        case user
    }

    /// An observer, which is told a value only if it differs from the one before.
    private struct Observer {
        let topic: Topic
        let publish: () -> Void
    }

    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let executor: QueueExecutor
    private let clock = SystemClock()
    private let transport: any Transport
    private let nodes: Int
    private let directory: URL
    private(set) var core: Core?
    private var wish = Link.Wish.connected
    /// The conversation that the user is looking at.
    private var viewed: String?
    private var observers: [Int: Observer] = [:]
    private var events: [Int: AsyncStream<ClientEvent>.Continuation] = [:]
    private var logs: [Int: AsyncStream<LogEntry>.Continuation] = [:]
    private var waits: [Int: (GrapevineError?) -> Void] = [:]
    /// The waits for answers to operations, which are over when the connection is lost.
    private var operationWaits: Set<Int> = []
    /// What is called when there may be a refusal that nobody was told of, by reader.
    private var refusalWaits: [Int: () -> Void] = [:]
    /// The refusals that readers were told of and are stored, by reader.
    private var toldRefusals: [Int: [UInt64]] = [:]
    private var number = 0
    private var wakesAt: Int64 = .max
    /// The rows of the list of chats, but for those that have changed since it was last made.
    private var rows: [String: Conversation]?

    init(nodes: [URL], directory: URL) {
        let executor = QueueExecutor("grapevine.client")
        self.executor = executor
        unownedExecutor = executor.asUnownedSerialExecutor()
        transport = URLSessionTransport(nodes: nodes, queue: executor.queue)
        self.nodes = nodes.count
        self.directory = directory
    }

    // MARK: The user

    /// Goes on with the user who is signed in, if there is one.
    func restore() throws(GrapevineError) {
        do {
            let files = FileManager.default
            try files.createDirectory(at: directory, withIntermediateDirectories: true)
            let names = try files.contentsOfDirectory(atPath: directory.path).sorted()
            for name in names where name.hasSuffix(Self.suffix) && core == nil {
                try begin(with: openStore(directory.appendingPathComponent(name).path))
            }
        } catch let error as StoreError {
            throw .notStored(error)
        } catch {
            throw GrapevineError(code: 507, message: error.localizedDescription)
        }
    }

    private static let suffix = ".sqlite"

    private func path(of user: String) -> String {
        directory.appendingPathComponent(encoded(user) + Self.suffix).path
    }

    private func openStore(_ path: String) throws(StoreError) -> Store {
        do {
            return try Store(path: path)
        } catch  where error.isDamage {
            return try Store.recover(path: path)
        }
    }

    /// Begins with the user whose sign-in a store has; it does nothing if the store has none.
    private func begin(with store: Store) throws(StoreError) {
        let outlets = Core.Outlets(
            report: { [weak self] news in self?.assumeIsolated { $0.note(news) } },
            refresh: { [weak self] touched in
                self?.assumeIsolated { $0.refresh(touched) }
            })
        core = try Core(
            store: store, transport: transport, nodes: nodes, clock: clock,
            makeID: { UUID().uuidString.lowercased() }, outlets: outlets)
        rows = nil
        setLogger()
        core?.set(wish)
        for case .messages(let id) in observers.values.map(\.topic) { core?.open(id) }
        if viewed != nil { core?.view(viewed) }
        publish(Topic.user, .chats, .items, .profiles, .connection)
        noteRefusals()
    }

    /// Begins with a user who has just signed in.
    func begin(_ tokens: Tokens, email: String) throws(GrapevineError) {
        let signIn = SignIn(
            user: tokens.user, email: email, accessToken: tokens.accessToken,
            refreshToken: tokens.refreshToken, seconds: tokens.expiresIn, now: clock.deviceTime)
        do {
            leave(with: tokens.user == core?.user ? nil : .unauthorized)
            let store = try openStore(path(of: tokens.user))
            try store.commit([.signIn(signIn)])
            try begin(with: store)
        } catch {
            throw .notStored(error)
        }
    }

    /// Ends the work for the present user, whose store stays.
    ///
    /// - Parameter error: what calls that wait throw; nil if they do not, since the user stays.
    func leave(with error: GrapevineError? = .unauthorized) {
        core?.end()
        // Requests under way keep the core for some time.
        core?.store.close()
        core = nil
        rows = nil
        for wait in waits.values { wait(error) }
        for topic in Set(observers.values.map(\.topic)) { publish(topic) }
    }

    /// Ends the work for the present user, and deletes what this device has stored.
    func forget() throws(GrapevineError) {
        guard let user = core?.user else { return }
        leave()
        let files = FileManager.default
        do {
            for suffix in ["", "-wal", "-shm"]
            where files.fileExists(atPath: path(of: user) + suffix) {
                try files.removeItem(atPath: path(of: user) + suffix)
            }
        } catch {
            throw GrapevineError(code: 507, message: error.localizedDescription)
        }
    }

    // MARK: Requests

    /// Sends a request without an access token, to one node after the other until one answers.
    func bareRequest(_ request: Request) async throws(GrapevineError) -> Response {
        var error = GrapevineError.noAnswer
        for attempt in 0..<(2 * nodes) {
            let call = Call(request: request, patience: 8_000)
            let response: Response? = await withCheckedContinuation { continuation in
                transport.send(call, to: attempt % nodes) { continuation.resume(returning: $0) }
            }
            guard let response else { continue }
            if response.status < 400 { return response }
            error = response.error ?? GrapevineError(code: response.status, message: "Refused")
            if response.status == 401 || error.isFinal { throw error }
        }
        throw error
    }

    /// Sends a request of the signed-in user.
    func request(
        _ request: Request, attempts: Int = 6
    ) async throws(GrapevineError) -> Response {
        guard let core else { throw .unauthorized }
        return try await wait(interrupted: .failure(.noAnswer)) { finish in
            core.request(request, attempts: attempts) { (_: inout Step, result) in
                finish(result)
            }
        }
    }

    /// Performs an action of the user.
    ///
    /// Without a connection, it returns when the action is stored.
    func act(_ action: Action) async throws(GrapevineError) {
        guard let core else { throw .unauthorized }
        try await wait(interrupted: .success(()), isForOperation: true) { finish in
            do throws(GrapevineError) {
                try core.act(action) { finish($0) }
                if !core.machines.link.isConnected { finish(.success(())) }
            } catch {
                finish(.failure(error))
            }
        }
    }

    /// Stores an action of the user and its files, without a wait for the answer.
    func store(_ action: Action, files: [String: Data] = [:]) throws(GrapevineError) {
        guard let core else { throw .unauthorized }
        try core.act(action, files: files)
    }

    func loadEarlier(in conversation: String) async throws(GrapevineError) {
        guard let core else { throw .unauthorized }
        try await wait(interrupted: .failure(.noAnswer)) { finish in
            core.loadEarlier(in: conversation) { finish($0) }
        }
    }

    /// Waits for a result, at most until the calling task is cancelled or the user signs out.
    ///
    /// - Parameters:
    ///   - interrupted: the result if the task is cancelled.
    ///   - isForOperation: whether the wait is interrupted when the connection is lost, too.
    private func wait<Value: Sendable>(
        interrupted: Result<Value, GrapevineError>, isForOperation: Bool = false,
        _ begin: (@escaping (Result<Value, GrapevineError>) -> Void) -> Void
    ) async throws(GrapevineError) -> Value {
        number += 1
        let id = number
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let finish = { (result: Result<Value, GrapevineError>) in
                    guard self.waits.removeValue(forKey: id) != nil else { return }
                    self.operationWaits.remove(id)
                    continuation.resume(returning: result)
                }
                waits[id] = { error in finish(error.map { .failure($0) } ?? interrupted) }
                if isForOperation { operationWaits.insert(id) }
                begin(finish)
            }
        } onCancel: {
            Task { await self.interrupt(id) }
        }
        return try result.get()
    }

    /// The number of operations that wait.
    var waitingCount: Int { core?.machines.outbox.operations.count ?? 0 }

    private func interrupt(_ id: Int) { waits[id]?(nil) }

    // MARK: Observers

    /// Tells a stream the present value, and each one that differs from the one before.
    func observe<Value: Equatable & Sendable>(
        _ topic: Topic, _ stream: AsyncStream<Value>.Continuation,
        _ value: @escaping @Sendable (isolated Engine) throws(StoreError) -> Value
    ) {
        number += 1
        let id = number
        var last: Value?
        let publish = {
            do throws(StoreError) {
                let present = try value(self)
                guard present != last else { return }
                last = present
                stream.yield(present)
            } catch {
                return  // What the store cannot tell now is told after the next change.
            }
        }
        observers[id] = Observer(topic: topic, publish: publish)
        stream.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endObserver(id) }
        }
        if case .messages(let conversation) = topic { core?.open(conversation) }
        publish()
    }

    private func endObserver(_ id: Int) {
        guard let topic = observers.removeValue(forKey: id)?.topic else { return }
        let isShown = observers.values.contains { $0.topic == topic }
        if case .messages(let conversation) = topic, !isShown { core?.close(conversation) }
    }

    /// Tells a stream the events that follow.
    func observeEvents(_ stream: AsyncStream<ClientEvent>.Continuation) {
        number += 1
        let id = number
        events[id] = stream
        stream.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endEvents(id) }
        }
    }

    private func endEvents(_ id: Int) { events[id] = nil }

    /// Tells a stream the entries of the log that follow.
    func observeLog(_ stream: AsyncStream<LogEntry>.Continuation) {
        number += 1
        let id = number
        logs[id] = stream
        setLogger()
        stream.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.endLog(id) }
        }
    }

    private func endLog(_ id: Int) {
        logs[id] = nil
        setLogger()
    }

    private func setLogger() {
        guard !logs.isEmpty else {
            core?.logger = nil
            return
        }
        core?.logger = { [weak self] entry in self?.assumeIsolated { $0.log(entry) } }
    }

    /// Tells all streams of the log an entry.
    func log(_ entry: LogEntry) {
        for stream in logs.values { stream.yield(entry) }
    }

    private func publish(_ topics: Topic...) {
        for observer in observers.values where topics.contains(observer.topic) {
            observer.publish()
        }
    }

    /// Returns the rows of the list of chats; only those that have changed are made anew.
    func conversations(archived: Bool) throws(StoreError) -> [Conversation] {
        guard let core else { return [] }
        if rows == nil {
            let list = try core.conversations()
            rows = Dictionary(list.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        }
        return (rows ?? [:]).values.filter { $0.isArchived == archived }.sorted {
            ($1.updatedAt, $0.id) < ($0.updatedAt, $1.id)
        }
    }

    // MARK: Refusals

    func newReader() -> Int {
        number += 1
        return number
    }

    /// Waits for refusals that nobody was told of; nil when the task of the reader is cancelled.
    ///
    /// They are deleted when the reader comes back: one that ends before is told again after the
    /// next start.
    func nextRefusals(for reader: Int) async -> [Refusal]? {
        defer { refusalWaits[reader] = nil }
        while true {
            let refusals = takeRefusals(for: reader)
            if !refusals.isEmpty { return refusals }
            if Task.isCancelled { return nil }
            do throws(GrapevineError) {
                try await wait(interrupted: .failure(.noAnswer)) { finish in
                    refusalWaits[reader] = { finish(.success(())) }
                }
            } catch {
                continue  // The user has signed out, or the reader has ended.
            }
        }
    }

    private func takeRefusals(for reader: Int) -> [Refusal] {
        guard let store = core?.store else { return [] }
        do throws(StoreError) {
            if let told = toldRefusals[reader] {
                try store.commit(told.map { .refusal(nil, number: $0) })
                toldRefusals[reader] = nil
            }
            // A reader that has ended takes no more, which another one is to be told.
            if Task.isCancelled { return [] }
            let told = Set(toldRefusals.values.joined())
            let refusals = try store.refusals().filter { !told.contains($0.number) }
            if !refusals.isEmpty { toldRefusals[reader] = refusals.map(\.number) }
            return refusals
        } catch {
            return []  // What the store cannot tell now is told after the next refusal.
        }
    }

    private func noteRefusals() {
        for wait in refusalWaits.values { wait() }
    }

    // MARK: What the core tells

    private func refresh(_ touched: Set<String>) {
        wake()
        guard let core, !touched.isEmpty else { return }
        do throws(StoreError) {
            for id in touched where rows != nil { rows?[id] = try core.listed(id) }
        } catch {
            rows = nil
        }
        publish(.chats)
        for id in touched { publish(.messages(id)) }
    }

    private func note(_ news: News) {
        switch news {
        case .connection:
            publish(.connection)
            if core?.machines.link.isConnected == false {
                for id in operationWaits { interrupt(id) }
            }
        case .items: publish(.items)
        case .lists, .profiles:
            rows = nil
            publish(.chats, .profiles)
        case .typing(let conversation): publish(.messages(conversation))
        case .refused: noteRefusals()
        case .arrived(let message, let conversation, let isCatchingUp):
            tellArrival(of: message, in: conversation, isCatchingUp)
        case .signedOut:
            leave()
        }
    }

    private func tellArrival(of id: String, in conversation: String, _ isCatchingUp: Bool) {
        guard !events.isEmpty, let core else { return }
        do throws(StoreError) {
            guard let message = try core.message(id, in: conversation) else { return }
            for stream in events.values {
                stream.yield(.arrived(message, isCatchingUp: isCatchingUp))
            }
        } catch {
            return  // The message is in the views when the store works again.
        }
    }

    // MARK: Time

    /// Has ``Core/tick()`` called when something is to be done.
    private func wake() {
        guard let deadline = core?.deadline, deadline < wakesAt else { return }
        wakesAt = deadline
        let pause = max(0, deadline - clock.elapsed)
        executor.queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause))) { [weak self] in
            self?.assumeIsolated { $0.tick(deadline) }
        }
    }

    private func tick(_ deadline: Int64) {
        guard deadline == wakesAt else { return }
        wakesAt = .max
        core?.tick()
        wake()
    }

    // MARK: The app

    func view(_ conversation: String?) {
        viewed = conversation
        core?.view(conversation)
    }

    /// Connects to the cluster, or ends the connection.
    func set(_ wish: Link.Wish) {
        self.wish = wish
        core?.set(wish)
    }

    /// Notes that the app is in the foreground.
    func enterForeground() {
        set(.connected)
        core?.enterForeground()
    }

    /// Moves the store's log into its file.
    func shorten() throws(GrapevineError) {
        do {
            try core?.store.shorten()
        } catch {
            throw .notStored(error)
        }
    }

    /// Waits until nothing waits to be sent, at most for some time.
    ///
    /// - Returns: whether nothing waits.
    func flush(within seconds: Double) async -> Bool {
        let end = clock.elapsed + Int64(seconds * 1_000)
        while waitingCount > 0, clock.elapsed < end {
            do {
                try await Task.sleep(for: .milliseconds(50))
            } catch {
                break
            }
        }
        return waitingCount == 0
    }
}

/// What has happened, for an app that shows notifications.
public enum ClientEvent: Hashable, Sendable {
    /// A message of another user has arrived; it may have been sent long before, if the client is
    /// told what it has missed.
    case arrived(Message, isCatchingUp: Bool)
}
