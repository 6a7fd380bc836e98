import HTTP
import LineProtocol
import Session

/// The closing of a connection to the port for apps.
extension AppConnection {
    /// Closes the connection after the current response, because the process is about to end.
    package func drain() {
        switch phase {
        case .reading, .events: close()
        case .answering(let exchange): exchange.closes = true
        case .responding(let remainder): remainder.closes = true
        case .awaiting, .storing: isDraining = true
        case .downloading(let download): download.closes = true
        case .socket: closeSocket(.goingAway, "The node stops; connect to another")
        case .closing: break
        }
    }

    /// Closes the connection after its current response, so that another client can connect.
    package func turnAway() {
        switch phase {
        case .reading: fail(HTTPError(.unavailable, LineError.noPlace.sentence))
        case .socket: closeSocket(.tryAgainLater, LineError.noPlace.sentence)
        case .answering, .responding, .awaiting, .storing, .downloading, .events, .closing: drain()
        }
    }

    /// Returns the complete HTTP response (503) for a client that exceeds the limit of connections.
    package static func refusal(at milliseconds: UInt64, isEncrypted: Bool) -> [UInt8] {
        var response = AppResponse(.noPlace)
        response.closes = true
        var context = AnswerContext.unread
        context.isEncrypted = isEncrypted
        let date = HTTPDate.text(of: milliseconds)
        return response.head(response.length, in: context, date: date) + response.body.joined()
    }

    /// Whether the connection has a request whose response is not completely sent.
    package var isAnswering: Bool {
        switch phase {
        case .answering, .responding, .awaiting, .storing, .downloading: true
        case .reading, .events, .socket, .closing: false
        }
    }

    /// Closes the connection once all queued bytes have been sent.
    func close() {
        end()
        output.finish()
    }

    func abort() {
        leavePlaces()
        end()
        output.abort()
    }

    private func end() {
        endViewings()
        phase = .closing
        backlog = []
        // The session ends in a later iteration, since it may be executing and call this method.
        askForTurn()
    }
}
