import Admin
import LineProtocol

extension Session {
    /// One line's place in the order of replies.
    enum Slot {
        case ready([UInt8])
        case pending(DeferredReply)
        /// `WAIT`, until it is at the head.
        case whenFirst(copies: Int, deadline: UInt64)
        /// A report, until it is at the head.
        case report(Request)
        /// What is answered when it is done, and begins when it is at the head.
        case work(Request)
        case waiting

        /// What it holds of a reply, sent or not.
        var bytesCount: Int {
            switch self {
            case .ready(let bytes): bytes.count
            case .pending(let reply): reply.bytesCount
            case .whenFirst, .report, .work, .waiting: 0
            }
        }

        /// Takes out what is in it.
        mutating func take() -> Slot {
            var taken = Slot.waiting
            swap(&self, &taken)
            return taken
        }
    }
}
