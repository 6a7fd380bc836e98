import Chat

/// The forms in which events reach clients.
package enum EventForm: Int, CaseIterable, Sendable {
    case line, json
    /// Only that there is one.
    case none
}

/// An event for all watching sessions of a node: it is rendered once for each form, and each
/// rendering is stored once.
///
/// It is confined to the node's event loop.
package actor WatchedEvent {
    private nonisolated let executor: any SerialExecutor
    private let event: Event
    /// By form.
    private var renderings: [RenderedEvent?] = Array(
        repeating: nil, count: EventForm.allCases.count)

    package init(_ event: Event, on executor: any SerialExecutor) {
        self.event = event
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Returns the part of the event that is the same for all sessions; the first call of a form
    /// renders it.
    package func rendered(
        as form: EventForm, _ render: (Event) -> (kind: String, bytes: [UInt8])
    ) -> RenderedEvent {
        if let rendered = renderings[form.rawValue] { return rendered }
        let (kind, bytes) = render(event)
        let rendered = RenderedEvent(kind, bytes, on: executor)
        renderings[form.rawValue] = rendered
        return rendered
    }
}

/// An event in one form, without what each session adds to it.
///
/// It is confined to the node's event loop. Sessions whose clients do not read keep it until they
/// do.
package actor RenderedEvent {
    private nonisolated let executor: any SerialExecutor
    /// The word for the kind of the event.
    package nonisolated let kind: String
    package nonisolated let bytes: [UInt8]
    /// The number of sessions that keep it.
    private var keepersCount = 0

    package init(_ kind: String, _ bytes: [UInt8], on executor: any SerialExecutor) {
        self.kind = kind
        self.bytes = bytes
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
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
