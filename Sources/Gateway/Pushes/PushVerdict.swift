/// The outcome of a push, derived from the HTTP status of its response.
enum PushVerdict: Equatable, Sendable {
    case delivered
    /// The push service does not know the device any more (410, or 404 from Web Push).
    case gone
    /// The push service refuses the notification for good (other 4xx).
    case refused
    /// The push failed for the moment, and a later one may succeed (such as 429, 5xx, or no
    /// response).
    case failed
    /// The request was not sent: this node has too many requests in flight.
    case unsent

    /// - Parameter status: the HTTP status of the response; nil if there was none.
    init(status: Int?, isWebhook: Bool) {
        switch status {
        case .some(200..<300): self = .delivered
        // A web server answers 404 also where the operator's address is a wrong one.
        case 410: self = .gone
        case 404 where !isWebhook: self = .gone
        // Too slow, too early, too many (RFC 9110, 8470, 6585): of the moment.
        case 408, 425, 429: self = .failed
        case .some(400..<500): self = .refused
        default: self = .failed
        }
    }
}
