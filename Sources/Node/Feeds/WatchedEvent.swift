import Chat

/// The forms in which events reach clients.
package enum EventForm: Int, CaseIterable, Sendable {
    case line, exactLine, json, exactJSON
    /// The mere fact that an event has occurred.
    case none

    /// The same form, with exact times.
    package var exact: EventForm {
        switch self {
        case .line, .exactLine: .exactLine
        case .json, .exactJSON: .exactJSON
        case .none: .none
        }
    }
}

/// An event for all watching sessions of a node; it is rendered once for each form, and each
/// rendering is stored once.
///
/// The actor is confined to the node's event loop.
package actor WatchedEvent {
    private nonisolated let executor: any SerialExecutor
    private let event: Event
    /// The renderings, by form.
    private var renderings: [RenderedEvent?] = Array(
        repeating: nil, count: EventForm.allCases.count)

    package init(_ event: Event, on executor: any SerialExecutor) {
        self.event = event
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Returns the event in a form, without the parts that each session adds; the first call for a
    /// form renders the event.
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

/// An event in one form, without the parts that each session adds.
///
/// The actor is confined to the node's event loop. A session whose client does not read keeps the
/// event until the client reads.
package actor RenderedEvent {
    private nonisolated let executor: any SerialExecutor
    /// The word that names the kind of the event.
    package nonisolated let kind: String
    package nonisolated let bytes: [UInt8]
    /// The number of sessions that keep the event in memory.
    private var keepersCount = 0

    package init(_ kind: String, _ bytes: [UInt8], on executor: any SerialExecutor) {
        self.kind = kind
        self.bytes = bytes
        self.executor = executor
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Records that a session keeps the event in memory.
    ///
    /// - Returns: whether no other session keeps the event.
    package func keep() -> Bool {
        keepersCount += 1
        return keepersCount == 1
    }

    /// Records that a session has released the event.
    ///
    /// - Returns: whether no other session keeps the event.
    package func letGo() -> Bool {
        precondition(keepersCount > 0, "whoever lets go of an event has kept it")
        keepersCount -= 1
        return keepersCount == 0
    }
}
