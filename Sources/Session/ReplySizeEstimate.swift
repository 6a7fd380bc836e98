import Chat
import LineProtocol

extension RequestTrace {
    /// An estimate of the reply's size in bytes, before the reply is made; 0 if it is certainly
    /// short.
    func replyBytesEstimated(of request: Request) -> Int {
        switch (reply, request.query) {
        case (.page, let history as HistoryQuery):
            // A page has at least one message, however long the message is.
            min(
                history.limit * SessionLimits.messageBytesEstimated,
                max(history.bytesMax ?? .max, SessionLimits.messageBytesEstimated))
        case (_, is PinsQuery), (_, is EditsQuery): SessionLimits.textsBytesEstimated
        case (.list, _), (.page, _): SessionLimits.listBytesEstimated
        case (.short, _): 0
        }
    }
}

extension Request {
    /// The query of a request that reads or lists; nil for another request.
    var query: (any Query)? {
        switch self {
        case .read(let query, _), .list(let query, _, _): query.base
        default: nil
        }
    }
}

/// The estimated bytes of a session's replies that another node or a task of this node makes.
struct ReplySizeEstimate: Sendable {
    /// The estimated bytes of each reply, by the slot number of its request.
    private var bytesBySlot: [UInt64: Int] = [:]
    private(set) var bytes = 0

    mutating func add(_ bytes: Int, for number: UInt64) {
        guard bytes > 0 else { return }
        bytesBySlot[number, default: 0] += bytes
        self.bytes += bytes
    }

    mutating func remove(_ number: UInt64) {
        bytes -= bytesBySlot.removeValue(forKey: number) ?? 0
    }
}
