import Chat
import LineProtocol
import Node
import Replication
import Wire

extension Admin {
    func read(
        _ query: AnyQuery, by user: UserID, _ page: ListPage = .whole, slot: ReplySlot,
        on connection: inout ConnectionState
    ) -> Answer {
        let handling = handle(query, of: user, for: slot, having: connection.sessionVectors)
        return answer(
            handling, showing: query.partition, page, on: &connection,
            sizeEstimate: DeferredReply.listingBytes)
    }

    private func handle(
        _ query: AnyQuery, of user: UserID, for slot: ReplySlot,
        having sessionVectors: SessionVectors
    ) -> Reply {
        node.assumeIsolated { $0.handle(query, of: user, for: slot, having: sessionVectors) }
    }
}
