/// The memory that all sessions of a node share.
package actor ClientRoom {
    private nonisolated let executor: any SerialExecutor
    private var held = HeldBytes()
    /// Sessions that have answered enough lines for one turn.
    private var yielding: [UInt64] = []
    /// How many lines each session may answer in a turn.
    private(set) var linesPerTurn = SessionLimits.slotsMax
    /// Counts the turns of the event loop.
    private(set) var turn: UInt64 = 0
    /// Is told at once when memory becomes tight, and when there is room again.
    private let onTight: @Sendable (Bool) -> Void

    package init(executor: any SerialExecutor, onTight: @escaping @Sendable (Bool) -> Void) {
        self.executor = executor
        self.onTight = onTight
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package var isTight: Bool { held.isTight }
    package var isAwaited: Bool { held.isAwaited }
    var isSpent: Bool { held.isSpent }
    var heldBytes: Int { held.total }

    func note(_ id: UInt64, holds bytes: Int, isItsTurn: Bool, taken: UInt64, now: UInt64) {
        change { $0.note(id, holds: bytes, isItsTurn: isItsTurn, taken: taken, now: now) }
    }

    func forget(_ id: UInt64) { change { $0.forget(id) } }

    func hasRoom(for bytes: Int) -> Bool { held.hasRoom(for: bytes) }

    func wait(_ id: UInt64, for bytes: Int) { held.wait(id, for: bytes) }

    func yield(_ id: UInt64) { yielding.append(id) }

    /// The end of a turn.
    ///
    /// - Returns: the sessions that may go on in the next: `Session.onTurn` is due.
    package func endTurn() -> [UInt64] {
        turn += 1
        linesPerTurn = min(
            SessionLimits.slotsMax,
            max(
                SessionLimits.linesPerTurnMin,
                SessionLimits.linesPerTurnMax / max(1, yielding.count)))
        defer { yielding = [] }
        return yielding
    }

    /// A session whose request has waited for room that is there: `Session.onRoom` is due.
    package func takeWaiting() -> UInt64? { held.takeWaiting() }

    /// The sessions that have to go: `Session.onStill` is due.
    package func takeStill(now: UInt64) -> [UInt64] { held.takeStill(now: now) }

    private func change(_ body: (inout HeldBytes) -> Void) {
        let wasTight = held.isTight
        body(&held)
        if held.isTight != wasTight { onTight(held.isTight) }
    }
}
