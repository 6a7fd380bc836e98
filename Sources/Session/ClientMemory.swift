/// The memory budget and the turn's time that all sessions of a node share.
package actor ClientMemory {
    private nonisolated let executor: any SerialExecutor
    private var held = HeldBytes()
    private var queue = TurnQueue()
    /// Called at once when memory becomes tight (true), and when that is over (false).
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
    package var isSpent: Bool { held.isSpent }
    var heldBytes: Int { held.total }

    package func recordHeld(
        _ id: UInt64, of source: TurnSource, holds bytes: Int, sharing: Int, isItsTurn: Bool,
        taken: UInt64, now: UInt64
    ) {
        change {
            $0.recordHeld(
                id, of: source, holds: bytes, sharing: sharing, isItsTurn: isItsTurn, taken: taken,
                now: now)
        }
    }

    /// Notes that shared lines of events wait, or have left; each line counts once.
    func addBytes(shared bytes: Int) { change { $0.addBytes(shared: bytes) } }

    package func removeSession(_ id: UInt64) { change { $0.removeSession(id) } }

    func hasCapacity(for bytes: Int, of source: TurnSource, isMeasured: Bool) -> Bool {
        held.hasCapacity(for: bytes, of: source, isMeasured: isMeasured)
    }

    func wait(_ id: UInt64, of source: TurnSource, for bytes: Int) {
        held.wait(id, of: source, for: bytes)
    }

    // MARK: Turns

    /// The share of the turn that a session may use.
    var grant: TurnShare.Grant { queue.grant }

    /// - Parameter time: the time that a session has used, in microseconds.
    func subtract(used time: UInt64) { queue.subtract(used: time) }

    /// Queues a session that has more to do than its share of the turn.
    func standBack(_ id: UInt64, of source: TurnSource) { queue.wait(id, of: source) }

    /// Ends a turn.
    ///
    /// The caller then calls `takeTurn` until it returns nil, and then `openTurn`.
    package func endTurn() { queue.endTurn() }

    /// Takes the next session that may continue in this turn; its `Session.onTurn` has to be
    /// called.
    package func takeTurn() -> UInt64? { queue.takeWaiting() }

    /// - Returns: whether sessions wait for the next turn.
    package func openTurn() -> Bool {
        queue.open()
        return !queue.isEmpty
    }

    // MARK: Memory

    /// Takes the next session for whose waiting request there is memory now; its
    /// `Session.onMemoryFreed` has to be called.
    package func takeWaiting() -> UInt64? { held.takeWaiting() }

    /// Returns the sessions that hold too much; their `Session.onStalled` has to be called.
    package func takeStalled(now: UInt64) -> [UInt64] { held.takeStalled(now: now) }

    private func change(_ body: (inout HeldBytes) -> Void) {
        let wasTight = held.isTight
        body(&held)
        if held.isTight != wasTight { onTight(held.isTight) }
    }
}
