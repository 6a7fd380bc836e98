import LineProtocol

extension Request {
    /// What its reply may take, in bytes, as far as that is known before it is made; 0 for a reply
    /// that is surely short.
    var replyBytesEstimated: Int {
        switch self {
        case .history(let history): history.limit * SessionLimits.messageBytesEstimated
        case .edits, .pinned, .chats, .marks, .unread: SessionLimits.listBytesEstimated
        default: 0
        }
    }
}

/// The bytes reckoned for the replies of one session that are made elsewhere.
struct ReplySizeEstimate: Sendable {
    /// By the numbers of their slots.
    private var bytesBySlot: [UInt64: Int] = [:]
    private(set) var bytes = 0

    mutating func add(_ bytes: Int, for number: UInt64) {
        guard bytes > 0 else { return }
        bytesBySlot[number] = bytes
        self.bytes += bytes
    }

    mutating func remove(_ number: UInt64) {
        bytes -= bytesBySlot.removeValue(forKey: number) ?? 0
    }
}
