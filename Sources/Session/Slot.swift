import Admin
import LineProtocol
import Node

/// A response in the form in which the session sends it.
enum MadeResponse {
    case lines([UInt8])
    /// - bytes: the approximate size of the encoded response.
    indirect case value(Response, bytes: Int)

    var bytesCount: Int {
        switch self {
        case .lines(let bytes): bytes.count
        case .value(_, let bytes): bytes
        }
    }
}

extension Session {
    /// The place of one request in the order in which a session sends responses.
    enum Slot {
        case ready(MadeResponse)
        /// A response that the session may send once the changes shown are on disk.
        case held(MadeResponse, seen: [Observation])
        case pending(DeferredReply)
        /// A `WAIT` request, which begins after all earlier responses were sent.
        case whenFirst(copies: Int, deadline: UInt64)
        /// A request for a report, which is answered after all earlier responses were sent.
        indirect case report(Request)
        /// A `TOKEN` request, which waits until a majority of the owners stores all that the
        /// connection had seen.
        indirect case token(ConnectionState)
        /// A request that begins after all earlier responses were sent, and is answered later.
        indirect case work(Request)
        case waiting

        /// The bytes of the response that the slot contains, whether they were sent or not.
        var bytesCount: Int {
            switch self {
            case .ready(let made), .held(let made, _): made.bytesCount
            case .pending(let reply): reply.bytesCount
            case .whenFirst, .report, .token, .work, .waiting: 0
            }
        }

        /// Returns the slot's content and leaves `waiting` in its place.
        mutating func exchange() -> Slot {
            var taken = Slot.waiting
            swap(&self, &taken)
            return taken
        }
    }
}
