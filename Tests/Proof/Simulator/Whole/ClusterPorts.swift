import Node
import Session

/// A request of a process to the outside world.
enum ClusterEffect: Sendable {
    case dial(String)
    case ready
    case end(Ending)
    case turnAgain
    case clientsHeld(Bool)
    case log(String)
    case commit
    /// A request to the push service.
    case push(call: UInt64, [UInt8])
    case emptyLog
    /// An effect on a connection to another node, as are the next two.
    case send(channel: UInt64, [UInt8])
    case pause(channel: UInt64, Bool)
    case close(channel: UInt64)
    /// An effect on a client's connection, as are the next two.
    case reply(visit: UInt64, [UInt8])
    case holdLines(visit: UInt64, Bool)
    case finish(visit: UInt64)
}

/// The surroundings of one process: its clocks, and the list of its effects, which the world
/// executes.
actor ClusterHost: Host, Clock {
    private nonisolated let executor: ClusterExecutor
    private let wallOffsetMilliseconds: UInt64
    nonisolated let isDebugging: Bool
    private var wallErrorMilliseconds: Int64 = 0
    /// Microseconds since the run began.
    private var worldMicroseconds: UInt64 = 0
    /// The same by the machine's monotonic clock, which stops while the machine is suspended.
    private var nowMicroseconds: UInt64 = 0
    /// The time that each look at the fine clock takes, and all of them together, in microseconds.
    private let lookMicroseconds: UInt64
    private var lookedMicroseconds: UInt64 = 0
    private var effects: [ClusterEffect] = []
    /// The number of bytes sent and not yet received, by channel or visit.
    private var queued: [UInt64: Int] = [:]

    init(
        on executor: ClusterExecutor, wallOffsetMilliseconds: UInt64, lookMicroseconds: UInt64,
        isDebugging: Bool
    ) {
        self.executor = executor
        self.lookMicroseconds = lookMicroseconds
        self.isDebugging = isDebugging
        self.wallOffsetMilliseconds = wallOffsetMilliseconds
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    // MARK: The world's side

    /// - Parameter behind: the time for which the machine was suspended since the run began.
    func setNow(_ microseconds: UInt64, behind: UInt64) {
        worldMicroseconds = microseconds
        nowMicroseconds = max(nowMicroseconds, microseconds - min(microseconds, behind))
    }

    func setWallError(_ milliseconds: Int64) { wallErrorMilliseconds = milliseconds }

    func takeEffects() -> [ClusterEffect] {
        defer { effects = [] }
        return effects
    }

    /// Records that the other side received some of the sent bytes.
    func onTaken(_ count: Int, from id: UInt64) { queued[id, default: 0] -= count }

    // MARK: The process's side

    nonisolated func appendEffect(_ effect: ClusterEffect) {
        assumeIsolated { $0.effects.append(effect) }
    }

    nonisolated func queue(_ count: Int, on id: UInt64) {
        assumeIsolated { $0.queued[id, default: 0] += count }
    }

    nonisolated func queuedBytes(on id: UInt64) -> Int {
        assumeIsolated { $0.queued[id, default: 0] }
    }

    nonisolated var milliseconds: UInt64 { assumeIsolated { $0.nowMicroseconds / 1_000 } }

    nonisolated var wallMilliseconds: UInt64 {
        assumeIsolated {
            let right = Int64($0.wallOffsetMilliseconds + $0.worldMicroseconds / 1_000)
            return UInt64(max(0, right + $0.wallErrorMilliseconds))
        }
    }

    nonisolated var microseconds: UInt64 {
        assumeIsolated {
            $0.lookedMicroseconds += $0.lookMicroseconds
            return $0.nowMicroseconds + $0.lookedMicroseconds
        }
    }

    nonisolated func dial(_ address: String) { appendEffect(.dial(address)) }

    nonisolated func onReady() { appendEffect(.ready) }

    nonisolated func end(_ ending: Ending) { appendEffect(.end(ending)) }

    nonisolated func turnAgain() { appendEffect(.turnAgain) }

    nonisolated func setClientsPaused(_ isPaused: Bool) { appendEffect(.clientsHeld(isPaused)) }

    nonisolated func log(_ level: LogLevel, _ line: String) {
        appendEffect(.log("\(level.rawValue) \(line)"))
    }

    nonisolated var residentBytes: UInt64 { 10_000_000 }
}

/// A process's end of a connection to another node.
final class ClusterChannel: Channel {
    let id: UInt64
    private let host: ClusterHost

    init(_ id: UInt64, host: ClusterHost) {
        self.id = id
        self.host = host
    }

    func send(_ bytes: [UInt8]) {
        host.queue(bytes.count, on: id)
        host.appendEffect(.send(channel: id, bytes))
    }

    var queuedBytes: Int { host.queuedBytes(on: id) }

    func setPaused(_ isPaused: Bool) { host.appendEffect(.pause(channel: id, isPaused)) }

    func close() { host.appendEffect(.close(channel: id)) }
}

/// A process's end of a client's connection.
final class ClusterOutput: SessionOutput {
    private let id: UInt64
    private let host: ClusterHost

    init(_ id: UInt64, host: ClusterHost) {
        self.id = id
        self.host = host
    }

    func write(_ bytes: [UInt8]) {
        host.queue(bytes.count, on: id)
        host.appendEffect(.reply(visit: id, bytes))
    }

    func flush() {}

    var queuedBytes: Int { host.queuedBytes(on: id) }

    func setReadingPaused(_ isPaused: Bool) { host.appendEffect(.holdLines(visit: id, isPaused)) }

    func finish() { host.appendEffect(.finish(visit: id)) }

    func abort() { host.appendEffect(.finish(visit: id)) }
}
