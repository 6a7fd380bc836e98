import Admin
import LineProtocol
import Node

/// The receiver of the response to a request that is no line.
package protocol ResponseReceiver: AnyObject, Sendable {
    /// Takes the response in the form in which its client is to get it; the last one that it is
    /// given counts.
    ///
    /// It is called while the session works, on the loop's thread, as `onTurn` is: the receiver
    /// asks nothing of the session in these calls.
    ///
    /// - Returns: the bytes that the receiver holds from here on.
    func take(_ response: Response) -> Int
    /// Continues with the response: all earlier ones have left.
    func onTurn()
}

/// A response in the form in which it leaves.
enum MadeResponse {
    case lines([UInt8])
    /// The receiver holds it, in as many bytes.
    case taken(bytes: Int)

    var bytesCount: Int {
        switch self {
        case .lines(let bytes): bytes.count
        case .taken(let bytes): bytes
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
