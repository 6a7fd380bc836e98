import Chat

/// An event on its way to all who watch on one node: its line is rendered once, and stored once.
///
/// It is confined to the node's loop. Sessions whose clients do not read keep it until they do.
package actor WatchedEvent {
    private enum Form {
        case event(Event)
        case line([UInt8])
    }

    private nonisolated let executor: any SerialExecutor
    private var form: Form
    /// How many sessions keep it.
    private var keepersCount = 0

    package init(_ event: Event, on executor: any SerialExecutor) {
        form = .event(event)
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// The part of its line that is the same for all; whoever asks first renders it.
    package func line(_ render: (Event) -> [UInt8]) -> [UInt8] {
        switch form {
        case .line(let bytes): return bytes
        case .event(let event):
            let bytes = render(event)
            form = .line(bytes)
            return bytes
        }
    }

    /// A session keeps it.
    ///
    /// - Returns: whether no other did.
    package func keep() -> Bool {
        keepersCount += 1
        return keepersCount == 1
    }

    /// A session that kept it does not any more.
    ///
    /// - Returns: whether no other does.
    package func letGo() -> Bool {
        precondition(keepersCount > 0, "whoever lets go of an event has kept it")
        keepersCount -= 1
        return keepersCount == 0
    }
}
