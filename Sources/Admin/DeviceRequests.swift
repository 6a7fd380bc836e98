import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

/// Requests for a user's devices and their notifications.
extension Admin {
    /// Lists a device's notifications; the node first records by a write which of them are shown.
    func notifications(
        for device: DeviceID, of user: UserID, _ page: ListPage, for slot: ReplySlot,
        on connection: ConnectionState
    ) -> Answer {
        node.assumeIsolated {
            $0.notify(
                device, of: user, level: connection.ackLevel, for: slot,
                having: connection.sessionVectors)
        }
        return .later(
            DeferredReply(form: .awaited(bytes: DeferredReply.listingBytes), page: page))
    }
}

extension Admin {
    /// Answers a `SUBSCRIBERS` request.
    func subscribers(_ id: ShardID) -> Response {
        guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
            return .failed(.shardNotHeld)
        }
        let isFirst = node.assumeIsolated { $0.isFirstOwner(of: shard) }
        guard shard.assumeIsolated({ $0.isReady }) else { return .done }
        switch shard.assumeIsolated({ $0.registeredDevices() }) {
        case .failure(let failure): return .failed(LineError(failure))
        case .success(let devices):
            let subscribers = devices.map { Subscriber(device: $0, isFirst: isFirst) }
            return .report(.subscribers(subscribers, isFirst: isFirst))
        }
    }
}
