import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

/// Requests for a user's devices and their notifications.
extension Admin {
    /// Lists notifications; those that are shown are recorded first, as any write is.
    func notifications(
        for device: DeviceID, of user: UserID, _ page: ListPage, for slot: ReplySlot,
        on connection: ConnectionState
    ) -> LineAnswer {
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
    /// Answers `SUBSCRIBERS`.
    func subscribers(_ id: ShardID, _ writer: inout ReplyWriter) {
        guard let shard = node.assumeIsolated({ $0.shard(id) }) else {
            return writer.error(.shardNotHeld)
        }
        let isFirst = node.assumeIsolated { $0.isFirstOwner(of: shard) }
        guard shard.assumeIsolated({ $0.isReady }) else { return writer.ok() }
        switch shard.assumeIsolated({ $0.registeredDevices() }) {
        case .failure(let failure): writer.error(LineError(failure))
        case .success(let devices):
            for device in devices where !writer.isTooLong {
                writer.line("SUBSCRIBER") {
                    $0.pair("user", device.user)
                    $0.pair("device", device.id)
                    $0.pair("token", device.token)
                    $0.pair("stamp", device.registered.bits)
                    $0.flag("first", isFirst)
                }
            }
            writer.ok { $0.flag("first", isFirst) }
        }
    }
}

extension ReplyWriter {
    mutating func device(_ device: DeviceView) {
        line("DEVICE") {
            $0.pair("id", device.id)
            $0.pair("token", device.token)
            $0.pair("viewing", device.viewing)
        }
    }

    mutating func block(_ block: BlockView) {
        line("BLOCKED") {
            $0.pair("other", block.user)
            $0.pair("at", time: block.since.lineTime)
        }
    }

    mutating func holder(_ holder: TokenHolder) {
        line("HOLDER") {
            $0.pair("user", holder.user)
            $0.pair("device", holder.device)
            $0.pair("stamp", holder.registered.time.bits)
        }
    }

    mutating func notification(_ notification: NotificationView) {
        line("NOTIFICATION") {
            $0.pair("id", notification.id)
            $0.pair("kind", notification.text == nil ? "withdrawn" : "message")
            $0.pair("conversation", notification.conversation)
            $0.pair("message", notification.message)
            $0.pair("from", notification.from)
            $0.pair("fromName", notification.fromName)
            $0.pair("text", notification.text)
            $0.flag("pushed", notification.isPushed)
        }
    }
}
