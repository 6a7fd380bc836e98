import Chat

/// An event for all watching sessions of a node: its line is rendered once and stored once.
///
/// It is confined to the node's event loop. Sessions whose clients do not read keep it until they
/// do.
package actor WatchedEvent {
    private enum Form {
        case event(Event)
        case line([UInt8])
    }

    private nonisolated let executor: any SerialExecutor
    private var form: Form
    /// The number of sessions that keep it.
    private var keepersCount = 0

    package init(_ event: Event, on executor: any SerialExecutor) {
        form = .event(event)
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Returns the part of the line that is the same for all sessions; the first call renders it.
    package func line(_ render: (Event) -> [UInt8]) -> [UInt8] {
        switch form {
        case .line(let bytes): return bytes
        case .event(let event):
            let bytes = render(event)
            form = .line(bytes)
            return bytes
        }
    }

    /// Notes that a session keeps the event.
    ///
    /// - Returns: whether no other session does.
    package func keep() -> Bool {
        keepersCount += 1
        return keepersCount == 1
    }

    /// Notes that a session has let go of the event.
    ///
    /// - Returns: whether no other session keeps it.
    package func letGo() -> Bool {
        precondition(keepersCount > 0, "whoever lets go of an event has kept it")
        keepersCount -= 1
        return keepersCount == 0
    }
}
