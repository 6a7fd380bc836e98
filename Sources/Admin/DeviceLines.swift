import Chat
import LineProtocol
import Node
import Replication
import Wire

/// Requests for a user's devices and their notifications.
extension Admin {
    /// Returns the mutation of a device that a request asks for; nil for other requests.
    func device(of request: Request) -> Mutation? {
        switch request {
        case .deviceAdd(let it): Mutation(.add(FieldText(it.token)), on: it.device, by: it.user)
        case .deviceRemove(let it): Mutation(.remove, on: it.device, by: it.user)
        case .viewing(let it): Mutation(.view(it.conversation), on: it.device, by: it.user)
        case .notified(let it):
            Mutation(.acknowledge(it.notification), on: it.device, by: it.user)
        default: nil
        }
    }

    /// Lists notifications; those that are shown are recorded first, as any write is.
    func notifications(
        of it: Request.OfDevice, for slot: ReplySlot, on connection: ConnectionState
    ) -> LineAnswer {
        node.assumeIsolated {
            $0.notify(
                it.device, of: it.user, level: connection.ackLevel, for: slot,
                having: connection.sessionVectors)
        }
        return .later(DeferredReply(form: .awaited(bytes: DeferredReply.listingBytes)))
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

    mutating func notification(_ notification: NotificationView) {
        line("NOTIFICATION") {
            $0.pair("id", notification.id)
            $0.pair("kind", notification.text == nil ? "withdrawn" : "message")
            $0.pair("conversation", notification.conversation)
            $0.pair("message", notification.message)
            $0.pair("from", notification.from)
            $0.pair("fromName", notification.fromName)
            $0.pair("text", notification.text)
        }
    }
}
