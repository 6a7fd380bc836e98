/// The memory budget, and the time per iteration of the event loop, of all sessions of a node.
package actor ClientMemory {
    private nonisolated let executor: any SerialExecutor
    private var held = HeldBytes()
    private var queue = TurnQueue()
    /// The function that is called with true when memory becomes tight, and with false when enough
    /// memory is free again.
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

    /// Adds the bytes of a shared event line, which counts once; negative when its last session
    /// releases it.
    func addBytes(shared bytes: Int) { change { $0.addBytes(shared: bytes) } }

    package func removeSession(_ id: UInt64) { change { $0.removeSession(id) } }

    func hasCapacity(for bytes: Int, of source: TurnSource, isMeasured: Bool) -> Bool {
        held.hasCapacity(for: bytes, of: source, isMeasured: isMeasured)
    }

    func wait(_ id: UInt64, of source: TurnSource, for bytes: Int) {
        held.wait(id, of: source, for: bytes)
    }

    // MARK: Turns

    /// The lines and the time that a session may use in this iteration of the event loop.
    var grant: TurnShare.Grant { queue.grant }

    /// - Parameter time: the time that a session has used, in microseconds.
    func subtract(used time: UInt64) { queue.subtract(used: time) }

    /// Queues a session that has used up its share, so that it continues in the next iteration.
    func standBack(_ id: UInt64, of source: TurnSource) { queue.wait(id, of: source) }

    /// Ends an iteration of the event loop ("turn").
    ///
    /// The caller then calls `takeTurn` until that returns nil, and then calls `openTurn`.
    package func endTurn() { queue.endTurn() }

    /// Removes and returns the next session that may continue in this iteration.
    ///
    /// The caller then calls the session's `onTurn`.
    package func takeTurn() -> UInt64? { queue.takeWaiting() }

    /// - Returns: true if sessions wait for the next iteration of the event loop.
    package func openTurn() -> Bool {
        queue.open()
        return !queue.isEmpty
    }

    // MARK: Memory

    /// Removes and returns the next session whose waiting request now has enough memory.
    ///
    /// The caller then calls the session's `onMemoryFreed`.
    package func takeWaiting() -> UInt64? { held.takeWaiting() }

    /// Returns the stalled sessions that use too much memory; the caller calls their `onStalled`.
    package func takeStalled(now: UInt64) -> [UInt64] { held.takeStalled(now: now) }

    private func change(_ body: (inout HeldBytes) -> Void) {
        let wasTight = held.isTight
        body(&held)
        if held.isTight != wasTight { onTight(held.isTight) }
    }
}
