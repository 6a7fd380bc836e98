import NetworkIO

/// The reason why a request has no reply; it may have been executed or not.
package enum LineFailure: Error, Hashable, Sendable {
    /// No connection was established, so nothing was sent.
    case unreachable(NetworkError)

    /// This side closed the connection.
    case closed

    /// The node closed the connection.
    case ended

    /// The connection broke.
    case lost(NetworkError)

    /// The node kept the connection, but sent nothing for this time.
    case silent(milliseconds: UInt64)

    /// The received bytes are no reply, or exceed the limit of one.
    case notAReply
}

extension LineFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let error): "cannot be reached: \(error)"
        case .closed: "the connection was closed here"
        case .ended: "closed the connection before it answered"
        case .lost(let error): "was lost before it answered: \(error)"
        case .silent(let milliseconds): "did not answer for \(milliseconds / 1_000) s"
        case .notAReply: "sent something that is no reply"
        }
    }
}
