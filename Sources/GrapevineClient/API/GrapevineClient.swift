import Foundation

/// A client of a Grapevine cluster: the user's conversations on this device, which work without a
/// network.
///
/// A client keeps what the cluster has told in a store, shows every change of the user at once, and
/// sends it when it can. It is opened once, at the start of an app:
///
/// ```swift
/// let client = try await GrapevineClient.open(nodes: [url1, url2, url3])
/// try await client.auth.signIn(email: "alice@example.org", password: "walnut-lantern")
/// try await client.messaging.sendMessage(conversationId: "lunch", text: "noodles?")
/// ```
public final class GrapevineClient: Sendable {
    /// The account of the user.
    public let auth: AuthService
    /// The conversations, messages and action items of the user.
    public let messaging: MessagingService
    /// What users tell others of themselves.
    public let profiles: ProfileService
    /// What no other service has: requests of the app's own, and events.
    public let data: DataService
    private let engine: Engine
    private let isOffline = Locked(false)

    private init(_ engine: Engine) {
        self.engine = engine
        auth = AuthService(engine: engine)
        messaging = MessagingService(engine: engine)
        profiles = ProfileService(engine: engine)
        data = DataService(engine: engine)
    }

    /// Opens the store on this device, and connects if a user is signed in.
    ///
    /// - Parameters:
    ///   - nodes: the addresses of the cluster's nodes, such as `https://n1.example.org`; at least
    ///     one.
    ///   - directory: the folder of the store; if nil, `Grapevine` in the app's support folder.
    /// - Throws: 400 without a node, and 507 if the store cannot be opened.
    public static func open(
        nodes: [URL], directory: URL? = nil
    ) async throws(GrapevineError) -> GrapevineClient {
        guard !nodes.isEmpty else {
            throw GrapevineError(code: 400, message: "The address of a node is needed")
        }
        let support = FileManager.default.urls(
            for: .applicationSupportDirectory, in: .userDomainMask
        ).first
        let folder =
            directory
            ?? (support ?? FileManager.default.temporaryDirectory)
            .appendingPathComponent("Grapevine")
        let engine = Engine(nodes: nodes, directory: folder)
        try await engine.restore()
        return GrapevineClient(engine)
    }

    /// The state of the connection: the present one, and each one that follows.
    public var connection: AsyncStream<ConnectionState> {
        engine.stream(.connection) { engine in
            engine.core?.machines.link.state ?? .signedOut
        }
    }

    /// Whether the client works as if there were no network.
    public var debugOfflineMode: Bool {
        get { isOffline.value }
        set {
            isOffline.value = newValue
            // The last of two tasks sets what was set last, in whatever order they run.
            Task { await engine.set(isOffline.value ? .paused(.debug) : .connected) }
        }
    }

    /// Ends the connection, since the app leaves the foreground.
    ///
    /// - Throws: 507 if the store fails.
    public func enterBackground() async throws(GrapevineError) {
        await engine.set(.paused(.background))
        try await engine.shorten()
    }

    /// Connects again, since the app is in the foreground.
    public func enterForeground() async { await engine.enterForeground() }

    /// Tries at once to connect, if the network is usable.
    public func networkChanged(isUsable: Bool) async {
        if isUsable { await engine.retry() }
    }

    /// Closes the store, since the system is about to suspend the app.
    public func suspend() async { await engine.suspend() }

    /// Opens the store again.
    ///
    /// - Throws: 507 if the store cannot be opened.
    public func resume() async throws(GrapevineError) { try await engine.resume() }

    /// Waits until all changes of the user are sent, at most for some seconds.
    ///
    /// - Returns: whether all are sent.
    @discardableResult
    public func flush(within seconds: Double) async -> Bool {
        await engine.flush(within: seconds)
    }
}

/// A value that several threads use.
// SAFETY: each access holds the lock.
private final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var held: Value

    init(_ value: Value) { held = value }

    var value: Value {
        get { lock.withLock { held } }
        set { lock.withLock { held = newValue } }
    }
}

extension Engine {
    /// Returns a stream of the present value and of those that follow, of which a slow reader gets
    /// the newest one.
    nonisolated func stream<Value: Equatable & Sendable>(
        _ topic: Topic,
        _ value: @escaping @Sendable (isolated Engine) throws(StoreError) -> Value
    ) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Value.self, bufferingPolicy: .bufferingNewest(1))
        Task { await observe(topic, continuation, value) }
        return stream
    }

    /// Returns what the store tells.
    ///
    /// - Throws: 401 if nobody is signed in, and 507 if the store fails.
    func read<Value: Sendable>(
        _ value: @Sendable (Core) throws(StoreError) -> Value
    ) throws(GrapevineError) -> Value {
        guard let core else { throw .unauthorized }
        do {
            return try value(core)
        } catch {
            throw .notStored(error)
        }
    }

    func retry() { core?.retry() }

    func setTyping(_ isTyping: Bool, in conversation: String) {
        core?.setTyping(isTyping, in: conversation)
    }

    /// Closes the store.
    func suspend() {
        set(.paused(.suspended))
        leave()
    }

    /// Opens the store again.
    func resume() throws(GrapevineError) {
        set(.connected)
        if core == nil { try restore() }
    }
}
