import CRDT
import Chat
import LineProtocol
import Node
import Wire

/// The conversations that a client's devices display, as the client reports over one WebSocket.
///
/// A report of a displayed conversation expires ten minutes after it was made or last renewed. The
/// node renews the reports while the WebSocket is open, and ends them when the WebSocket closes.
struct SocketViewings {
    private struct Viewing {
        let request: Request
        let user: UserID
        /// When the client reported the displayed conversation, or the node last renewed the
        /// report, in milliseconds since 1970.
        var wallMilliseconds: UInt64
        var renewAt: UInt64
    }

    /// The maximum number of devices whose displayed conversations are recorded for one WebSocket;
    /// it equals the limit of devices per user.
    private static let devicesMax = 32
    /// The time from a report of a displayed conversation, or from its last renewal, to its next
    /// renewal, in milliseconds.
    private static let renewMilliseconds: UInt64 = 240_000
    /// How far the hybrid timestamp of a report of a displayed conversation may be ahead of this
    /// node's clock, in milliseconds.
    private static let aheadMilliseconds: UInt64 = 1_000

    private var viewings: [String: Viewing] = [:]

    /// Records a client's report of the conversation that a device displays, so that the node can
    /// renew the report; if `request` is nil, the device displays no conversation, and its last
    /// report is removed.
    mutating func note(
        _ request: Request?, of device: String, by user: UserID, now: UInt64,
        wallMilliseconds: UInt64
    ) {
        guard let request else {
            viewings[device] = nil
            return
        }
        guard viewings[device] != nil || viewings.count < SocketViewings.devicesMax else { return }
        viewings[device] = Viewing(
            request: request, user: user, wallMilliseconds: wallMilliseconds,
            renewAt: now + SocketViewings.renewMilliseconds)
    }

    /// Returns the requests that renew the reports of displayed conversations that were made or
    /// last renewed at least `renewMilliseconds` ago.
    mutating func takeDue(now: UInt64, wallMilliseconds: UInt64) -> [Request] {
        let due = viewings.filter { now >= $0.value.renewAt }.keys.sorted()
        return due.compactMap { device in
            viewings[device]?.renewAt = now + SocketViewings.renewMilliseconds
            viewings[device]?.wallMilliseconds = wallMilliseconds
            return viewings[device]?.request
        }
    }

    /// Removes all reports of displayed conversations, and returns the requests that end them.
    ///
    /// A request does not end a report that the device has sent over another connection more than
    /// `aheadMilliseconds` after the removed report was made or last renewed.
    mutating func takeEnds() -> [Request] {
        defer { viewings = [:] }
        return viewings.sorted { $0.key < $1.key }.map { device, viewing in
            let bound = viewing.wallMilliseconds + SocketViewings.aheadMilliseconds
            return .write(
                Mutation(
                    EndLeasedView(upTo: HybridTimestamp(milliseconds: bound)),
                    on: DeviceID(checked: device), by: viewing.user))
        }
    }
}

extension AppConnection {
    /// Ends the reports of displayed conversations that the client has sent over this WebSocket.
    func endViewings() {
        guard case .socket(let socket) = phase else { return }
        for request in socket.viewings.takeEnds() { host.execute(request) }
    }
}
