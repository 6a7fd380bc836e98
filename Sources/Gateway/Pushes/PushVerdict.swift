/// The outcome of a push to a device, derived from the HTTP status of the response.
enum PushVerdict: Equatable, Sendable {
    case delivered
    /// The push service reports that the device is gone (410, or 404 from Web Push).
    case gone
    /// The push service refuses the notification permanently (other 4xx).
    case refused
    /// The push failed, and a later try may succeed (such as after 429, 5xx, or no response).
    case failed
    /// The push request was not sent, because this node has too many requests in flight.
    case unsent

    /// - Parameter status: the HTTP status of the push service's response; nil if there was none.
    init(status: Int?, isWebhook: Bool) {
        switch status {
        case .some(200..<300): self = .delivered
        // A webhook's 404 may also mean that the operator has configured a wrong URL.
        case 410: self = .gone
        case 404 where !isWebhook: self = .gone
        // Temporary: too slow, too early, too many requests (RFC 9110, 8470, 6585).
        case 408, 425, 429: self = .failed
        case .some(400..<500): self = .refused
        default: self = .failed
        }
    }
}
