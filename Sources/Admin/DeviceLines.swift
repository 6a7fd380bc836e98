import Chat
import LineProtocol
import Node
import Replication
import Wire

/// Requests for a user's devices and their notifications.
extension Admin {
    /// Lists notifications; those that are shown are recorded first, as any write is.
    func notifications(
        for device: DeviceID, of user: UserID, for slot: ReplySlot,
        on connection: ConnectionState
    ) -> LineAnswer {
        node.assumeIsolated {
            $0.notify(
                device, of: user, level: connection.ackLevel, for: slot,
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
