/// What an answer to a write means, or that none came.
enum Answer: Equatable, Sendable {
    /// The node has accepted it; the time is that of its effect.
    case accepted(at: ExactTime?)
    /// The node has refused it, as all nodes will.
    case refused(GrapevineError)
    /// It may have been executed, or will be: no answer came, or one that says no more.
    ///
    /// The seconds are what the node asks to wait.
    case unknown(retryAfter: Double?)
    /// It was not executed: the node asks to wait.
    case later(retryAfter: Double?)
    /// It was not executed: the access token is to be renewed.
    case unauthorized
    /// It was not executed by this node, since its time is not yet past, or, if it `isExpired`, too
    /// long past: then no node executes it any more.
    case untimely(isExpired: Bool, now: ExactTime?)

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - status: the status of HTTP.
    ///   - error: what the node says of an error.
    ///   - at: the time of the effect.
    ///   - now: the node's time, which an untimely operation is answered with.
    ///   - retryAfter: the seconds that the node asks to wait.
    init(
        status: Int, error: GrapevineError?, at: ExactTime?, now: ExactTime?, retryAfter: Double?
    ) {
        switch status {
        case 200..<300: self = .accepted(at: at)
        case 401: self = .unauthorized
        case 408: self = .untimely(isExpired: error?.reason == "operation_expired", now: now)
        case 429: self = .later(retryAfter: retryAfter)
        case 400, 403, 404, 405, 409, 413:
            let told = error ?? GrapevineError(code: status, message: "The node answered \(status)")
            self = .refused(told)
        default: self = .unknown(retryAfter: retryAfter)
        }
    }
}
