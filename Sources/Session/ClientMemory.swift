/// The memory that all sessions of a node share.
package actor ClientMemory {
    private nonisolated let executor: any SerialExecutor
    private var held = HeldBytes()
    private var queue = TurnQueue()
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

    func note(
        _ id: UInt64, holds bytes: Int, sharing: Int, isItsTurn: Bool, taken: UInt64, now: UInt64
    ) {
        change {
            $0.note(
                id, holds: bytes, sharing: sharing, isItsTurn: isItsTurn, taken: taken, now: now)
        }
    }

    /// Lines of events that sessions share wait, or have left; each counts once.
    func note(shared bytes: Int) { change { $0.note(shared: bytes) } }

    func forget(_ id: UInt64) { change { $0.forget(id) } }

    func hasRoom(for bytes: Int) -> Bool { held.hasRoom(for: bytes) }

    func wait(_ id: UInt64, for bytes: Int) { held.wait(id, for: bytes) }

    // MARK: Turns

    /// What a session may use of the turn.
    var grant: TurnShare.Grant { queue.grant }

    /// - Parameter time: what a session has used, in microseconds.
    func note(used time: UInt64) { queue.note(used: time) }

    /// A session has more to do than its share of the turn.
    func standBack(_ id: UInt64) { queue.wait(id) }

    /// The end of a turn: `takeTurn` is due until there is nobody, then `openTurn`.
    package func endTurn() { queue.endTurn() }

    /// A session that goes on in this turn: `Session.onTurn` is due.
    package func takeTurn() -> UInt64? { queue.takeWaiting() }

    /// - Returns: whether somebody waits for the next turn.
    package func openTurn() -> Bool {
        queue.open()
        return !queue.isEmpty
    }

    // MARK: Room

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
