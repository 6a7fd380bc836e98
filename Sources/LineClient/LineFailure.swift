import NetworkIO

/// Why a request has no reply: it may have been done or not.
package enum LineFailure: Error, Hashable, Sendable {
    /// No connection came about, so nothing was asked.
    case unreachable(NetworkError)

    /// This side closed the connection.
    case closed

    /// The node closed the connection.
    case ended

    /// The connection broke.
    case lost(NetworkError)

    /// The node kept the connection and said nothing for so long.
    case silent(milliseconds: UInt64)

    /// What came was no reply, or one beyond every limit.
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
