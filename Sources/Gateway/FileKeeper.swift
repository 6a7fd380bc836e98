import LineProtocol
import Node

/// The keeper of a node's files: it purges the parts of closed ones from all disks, and closes
/// those that were not sent in time.
///
/// A part is purged as soon as its file is closed. The file itself stays in the list of closed ones
/// until all owners are in sync: from then on no part of it can arrive any more, since each of them
/// refuses it. A file that was not sent is closed only where all are in sync, too: a message with
/// it may have been accepted on another side of a network partition.
package actor FileKeeper {
    private nonisolated let executor: any SerialExecutor
    private nonisolated let tasks: LoopTaskExecutor
    private nonisolated let desk: LineDesk
    private nonisolated let clock: any Clock
    private var isSweeping = false
    private var sweepAt: UInt64 = 0
    /// When this node saw each of the due files of which it is not the first owner, in
    /// milliseconds.
    private var seenAt: [String: UInt64] = [:]

    /// How often a node looks for due files, in milliseconds.
    private static let pauseMilliseconds: UInt64 = 250
    /// How long the first owner has for a file before another takes over, in milliseconds.
    private static let patienceMilliseconds: UInt64 = 5_000
    /// The most files of other owners that are remembered.
    private static let seenMax = 1_024

    package init(host: any LineHost, clock: any Clock, executor: any SerialExecutor) {
        desk = LineDesk(host: host, executor: executor)
        self.clock = clock
        self.executor = executor
        tasks = LoopTaskExecutor(of: executor)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Looks for due files if it is time; called at each tick.
    package func onTick() {
        let now = clock.milliseconds
        guard !isSweeping, now >= sweepAt else { return }
        isSweeping = true
        sweepAt = now + FileKeeper.pauseMilliseconds
        Task(executorPreference: tasks) { [self] in await sweep() }
    }

    private func sweep() async {
        defer { isSweeping = false }
        guard case .success(let reply) = await desk.ask(["FILES"]) else { return }
        if reply.lines.isEmpty { seenAt = [:] }
        for (_, fields) in reply.lines {
            guard let conversation = fields["conversation"], let id = fields["id"] else {
                continue
            }
            let name = "\(conversation) \(id)"
            guard fields.isTrue("first") || isOverdue(name) else { continue }
            let lines = FileKeeper.lines(for: name, fields)
            if !lines.isEmpty { _ = await desk.ask(lines) }
        }
    }

    /// Whether the first owner of a file has had its time.
    private func isOverdue(_ name: String) -> Bool {
        let now = clock.milliseconds
        guard let since = seenAt[name] else {
            if seenAt.count >= FileKeeper.seenMax { seenAt = [:] }
            seenAt[name] = now
            return false
        }
        return now >= since + FileKeeper.patienceMilliseconds
    }

    /// The lines by which a due file is looked after.
    static func lines(for name: String, _ fields: ReplyFields) -> [String] {
        let isInSync = fields.isTrue("synced")
        guard fields.isTrue("closed") else { return isInSync ? ["FILE CLOSE \(name)"] : [] }
        let parts = fields.set("parts")
        guard parts.isEmpty else { return parts.map { "FILE PURGE \(name) \($0)" } }
        return isInSync ? ["FILE PURGE \(name)"] : []
    }
}
