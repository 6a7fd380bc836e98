/// The counts and limits of concurrent pushes, so that slow devices do not delay pushes to others.
///
/// A push may take 10 s. All devices whose last push failed or was slow share lower limits, so that
/// most of the permitted pushes remain for other devices.
struct PushSlots {
    /// The maximum numbers of concurrent pushes: in all, to one push server, and to one user's
    /// devices.
    struct Bounds {
        let all: Int
        let server: Int
        let user: Int
    }

    /// The properties of a device that determine which limits on concurrent pushes apply to it.
    struct Holder: Hashable {
        let user: String
        /// The scheme and the host of the device's push service, or the URL of the webhook.
        let server: String
        let isSlow: Bool
    }

    /// The limits on concurrent pushes to all devices: `all` equals the limit of the HTTP client,
    /// and `user` is so low that pushes to 16 users' devices do not reach the limit of one push
    /// server.
    static let bounds = Bounds(all: 128, server: 64, user: 3)
    static let slowBounds = Bounds(all: 32, server: 16, user: 2)

    private struct Counts {
        var all = 0
        var servers: [String: Int] = [:]
        var users: [String: Int] = [:]

        func hasPlace(for holder: Holder, within bounds: Bounds) -> Bool {
            all < bounds.all && servers[holder.server, default: 0] < bounds.server
                && users[holder.user, default: 0] < bounds.user
        }

        mutating func add(_ change: Int, for holder: Holder) {
            all += change
            servers[holder.server, default: 0] += change
            users[holder.user, default: 0] += change
            if servers[holder.server] == 0 { servers[holder.server] = nil }
            if users[holder.user] == 0 { users[holder.user] = nil }
        }
    }

    private var taken = Counts()
    private var takenBySlow = Counts()

    var isEmpty: Bool { taken.all == 0 }

    /// - Returns: false if the device has to wait, because a limit on concurrent pushes is reached.
    mutating func take(for holder: Holder) -> Bool {
        guard taken.hasPlace(for: holder, within: PushSlots.bounds),
            !holder.isSlow || takenBySlow.hasPlace(for: holder, within: PushSlots.slowBounds)
        else { return false }
        taken.add(1, for: holder)
        if holder.isSlow { takenBySlow.add(1, for: holder) }
        return true
    }

    mutating func giveBack(of holder: Holder) {
        taken.add(-1, for: holder)
        if holder.isSlow { takenBySlow.add(-1, for: holder) }
    }
}
