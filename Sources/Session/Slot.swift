import Admin
import LineProtocol
import Node

/// A response in the form in which it leaves.
enum MadeResponse {
    case lines([UInt8])
    /// - bytes: about as many as it will have.
    indirect case value(Response, bytes: Int)

    var bytesCount: Int {
        switch self {
        case .lines(let bytes): bytes.count
        case .value(_, let bytes): bytes
        }
    }
}

extension Session {
    /// The place of one request in the order of responses.
    enum Slot {
        case ready(MadeResponse)
        /// The response may leave once it is on disk.
        case held(MadeResponse, seen: [Observation])
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
            case .ready(let made), .held(let made, _): made.bytesCount
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
