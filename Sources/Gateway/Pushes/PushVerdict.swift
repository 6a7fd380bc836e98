/// What the response to a push says of the notification, and of its device.
enum PushVerdict: Equatable, Sendable {
    case delivered
    /// The push service knows the device no more.
    case gone
    /// The notification would be refused again.
    case refused
    /// A later push of the notification may be taken.
    case failed
    /// The request did not leave: this node has too many on their way.
    case unsent

    /// - Parameter status: that of the response; nil where there was none.
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
