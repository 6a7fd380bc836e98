/// The bounds of how many devices are pushed to at a time, so that slow ones do not hold up others.
///
/// A push may take ten seconds. Devices whose last push failed or took long have bounds of their
/// own, well below those of all: however many there are, most places are free for others.
struct PushSlots {
    /// The most places that are taken at a time: in all, by devices whose pushes go to one server,
    /// and by devices of one user.
    struct Bounds {
        let all: Int
        let server: Int
        let user: Int
    }

    /// A device that takes a place, as far as the bounds go.
    struct Holder: Hashable {
        let user: String
        /// The scheme and the host of the push service.
        let server: String
        let isSlow: Bool
    }

    /// The places in all are the requests that the HTTP client takes; sixteen users, however many
    /// devices they have, leave some of those of one server.
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

    /// - Returns: false where the holder has to wait.
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
