import Chat
import LineProtocol

extension RequestTrace {
    /// An estimate of the reply's size in bytes, before the reply is made; 0 if it is certainly
    /// short.
    func replyBytesEstimated(of request: Request) -> Int {
        switch (reply, request) {
        case (.page, .read(.history(_, _, let limit, _), _)):
            limit * SessionLimits.messageBytesEstimated
        case (.page, .list(.history(_, _, let limit, let bytesMax), _, _)):
            // A page has one message at least.
            min(
                limit * SessionLimits.messageBytesEstimated,
                max(bytesMax ?? .max, SessionLimits.messageBytesEstimated))
        case (_, .read(.pinned, _)), (_, .read(.edits, _)), (_, .list(.pinned, _, _)),
            (_, .list(.edits, _, _)):
            SessionLimits.textsBytesEstimated
        case (.list, _), (.page, _): SessionLimits.listBytesEstimated
        case (.short, _): 0
        }
    }
}

/// The estimated bytes of a session's replies that are being made elsewhere.
struct ReplySizeEstimate: Sendable {
    /// By the numbers of the slots.
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
