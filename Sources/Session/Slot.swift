import Admin
import LineProtocol

extension Session {
    /// The place of one line in the order of replies.
    enum Slot {
        case ready([UInt8])
        case pending(DeferredReply)
        /// A `WAIT`, which begins when it is at the head.
        case whenFirst(copies: Int, deadline: UInt64)
        /// A report, which is made when it is at the head.
        indirect case report(Request)
        /// A `TOKEN` of what this connection had seen, which waits until a majority has that.
        indirect case token(ConnectionState)
        /// A request that begins when it is at the head and is answered later.
        indirect case work(Request)
        case waiting

        /// The bytes of the reply that it holds, sent or not.
        var bytesCount: Int {
            switch self {
            case .ready(let bytes): bytes.count
            case .pending(let reply): reply.bytesCount
            case .whenFirst, .report, .token, .work, .waiting: 0
            }
        }

        /// Takes out the content.
        mutating func exchange() -> Slot {
            var taken = Slot.waiting
            swap(&self, &taken)
            return taken
        }
    }
}
