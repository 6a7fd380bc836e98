import CRDT
import Chat
import LineProtocol
import Node
import Wire

/// The conversations that devices show, as a client has said over a WebSocket.
///
/// They are renewed while it is open, and end with it.
struct SocketViewings {
    private struct Viewing {
        let request: Request
        let user: UserID
        /// When it was said last, in milliseconds since 1970.
        var wallMilliseconds: UInt64
        var renewAt: UInt64
    }

    /// The most devices; a user has no more.
    private static let devicesMax = 32
    /// After how many milliseconds a viewing is renewed, well before it ends by itself.
    private static let renewMilliseconds: UInt64 = 240_000
    /// How far the stamp of a viewing may be ahead of this node's clock, in milliseconds.
    private static let aheadMilliseconds: UInt64 = 1_000

    private var viewings: [String: Viewing] = [:]

    /// Notes what a device shows; nil for nothing any more.
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

    /// Returns the requests by which viewings are renewed.
    mutating func takeDue(now: UInt64, wallMilliseconds: UInt64) -> [Request] {
        let due = viewings.filter { now >= $0.value.renewAt }.keys.sorted()
        return due.compactMap { device in
            viewings[device]?.renewAt = now + SocketViewings.renewMilliseconds
            viewings[device]?.wallMilliseconds = wallMilliseconds
            return viewings[device]?.request
        }
    }

    /// Removes all, and returns the requests by which they end, unless the device has said
    /// otherwise since, over another connection.
    mutating func takeEnds() -> [Request] {
        defer { viewings = [:] }
        return viewings.sorted { $0.key < $1.key }.map { device, viewing in
            let bound = viewing.wallMilliseconds + SocketViewings.aheadMilliseconds
            return .write(
                Mutation(
                    .endView(upTo: HybridTimestamp(milliseconds: bound)),
                    on: DeviceID(checked: device), by: viewing.user))
        }
    }
}

extension AppConnection {
    /// Ends what devices show, where the client has said so over this WebSocket.
    func endViewings() {
        guard case .socket(let socket) = phase else { return }
        for request in socket.viewings.takeEnds() { host.execute(request) }
    }
}
