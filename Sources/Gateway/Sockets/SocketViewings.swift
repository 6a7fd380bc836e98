import Wire

/// The conversations that devices show, as a client has said over a WebSocket.
///
/// They are renewed while it is open, and end with it.
struct SocketViewings {
    private struct Viewing {
        let line: String
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

    /// Notes a line of `VIEWING`; nil for one by which a device shows nothing any more.
    mutating func note(
        _ line: [UInt8]?, of device: String, by user: UserID, now: UInt64, wallMilliseconds: UInt64
    ) {
        guard let line else {
            viewings[device] = nil
            return
        }
        guard viewings[device] != nil || viewings.count < SocketViewings.devicesMax else { return }
        viewings[device] = Viewing(
            line: String(decoding: line, as: UTF8.self), user: user,
            wallMilliseconds: wallMilliseconds, renewAt: now + SocketViewings.renewMilliseconds)
    }

    /// Returns the lines by which viewings are renewed.
    mutating func takeDue(now: UInt64, wallMilliseconds: UInt64) -> [String] {
        let due = viewings.filter { now >= $0.value.renewAt }.keys.sorted()
        return due.compactMap { device in
            viewings[device]?.renewAt = now + SocketViewings.renewMilliseconds
            viewings[device]?.wallMilliseconds = wallMilliseconds
            return viewings[device]?.line
        }
    }

    /// Removes all, and returns the lines by which they end, unless the device has said otherwise
    /// since, over another connection.
    mutating func takeEnds() -> [String] {
        defer { viewings = [:] }
        return viewings.sorted { $0.key < $1.key }.map { device, viewing in
            let bound = viewing.wallMilliseconds + SocketViewings.aheadMilliseconds
            return "VIEWING \(viewing.user) \(device) upto=\(bound << 16)"
        }
    }
}

extension AppConnection {
    /// Ends what devices show, where the client has said so over this WebSocket.
    func endViewings() {
        guard case .socket(let socket) = phase else { return }
        for line in socket.viewings.takeEnds() { host.execute(line) }
    }
}
