import Foundation

/// What no other service has: requests of the app's own, and events.
public struct DataService: Sendable {
    let engine: Engine

    /// Sends a request of the HTTP interface, to one node after the other until one answers.
    ///
    /// - Parameters:
    ///   - method: `GET`, `PUT`, `POST`, `PATCH` or `DELETE`.
    ///   - path: the path with its query, percent-encoded, such as `/v1/blocks`.
    ///   - body: texts of a JSON object.
    /// - Returns: the answer, in JSON.
    /// - Throws: 400 for another method or a path that does not begin with `/v1/`, and the error of
    ///   the last node that was asked.
    public func request(
        _ method: String, _ path: String, body: [String: String] = [:]
    ) async throws(GrapevineError) -> Data {
        guard let method = Request.Method(rawValue: method), path.hasPrefix("/v1/"),
            URL(string: path) != nil
        else {
            throw GrapevineError(code: 400, message: "\(method) \(path) is no request of nodes")
        }
        let request = Request(
            method: method, path: path, body: body.mapValues(Request.Value.text))
        return try await engine.request(request).body
    }

    /// Returns a stream of what happens, for an app that shows notifications.
    public func events() -> AsyncStream<ClientEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ClientEvent.self, bufferingPolicy: .bufferingNewest(1_000))
        Task { await engine.observeEvents(continuation) }
        return stream
    }

    /// Returns a stream of what the client does, from now on: connections, changes that were sent,
    /// accepted or refused, typing, and events that told nothing new.
    ///
    /// A reader that falls behind misses entries, after a thousand.
    public func log() -> AsyncStream<LogEntry> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LogEntry.self, bufferingPolicy: .bufferingNewest(1_000))
        Task { await engine.observeLog(continuation) }
        return stream
    }

    /// Returns what to do about a message that has arrived, as
    /// ``notificationDecision(for:in:)`` does, and logs it.
    public func notificationDecision(
        for message: Message, in context: NotificationContext
    ) async -> NotificationDecision {
        let decision = decide(message, context)
        await engine.log(
            LogEntry(
                date: context.now, level: .info,
                text: "notification message=\(message.id) conversation=\(message.conversationId) "
                    + "viewed=\(context.viewedConversationId ?? "") "
                    + "foreground=\(context.isInForeground) decision=\(decision)"))
        return decision
    }

    /// The number of changes of the user that no node has accepted.
    public var pendingCount: Int {
        get async { await engine.waitingCount }
    }
}

/// Returns the decision of the function that has the name of the service's method.
private func decide(
    _ message: Message, _ context: NotificationContext
) -> NotificationDecision {
    notificationDecision(for: message, in: context)
}
