import Wire

/// The schedule of dialling: every address that is wanted, again and again until a connection to it
/// is up.
struct Dialer: Sendable {
    private struct Target {
        var isDialing = false
        var nextAt: UInt64 = 0
        var pauseMilliseconds = Dialer.pauseMillisecondsMin
    }

    /// The pause after the first failed attempt, in milliseconds; it doubles with each further one.
    static let pauseMillisecondsMin: UInt64 = 100
    static let pauseMillisecondsMax: UInt64 = 500

    /// How long the pause of an address is remembered after it is over while nobody wants the
    /// address, in milliseconds.
    ///
    /// An address may lead to a member again and again, each time by a connection that soon ends.
    static let memoryMilliseconds: UInt64 = 10_000

    /// By address.
    private var targets: [String: Target] = [:]

    /// Returns the addresses to dial now, out of those that are wanted, and counts them as dialled.
    mutating func due(_ wanted: Set<String>, now: UInt64) -> [String] {
        targets = targets.filter { address, target in
            wanted.contains(address) || target.isDialing
                || now < target.nextAt + Dialer.memoryMilliseconds
        }
        return wanted.sorted().filter { address in
            var target = targets[address] ?? Target()
            guard !target.isDialing, now >= target.nextAt else { return false }
            target.isDialing = true
            targets[address] = target
            return true
        }
    }

    /// The attempt takes long: another connection may be tried beside it.
    mutating func onSlow(_ address: String) {
        guard targets[address]?.isDialing ?? false else { return }
        targets[address]?.isDialing = false
    }

    /// The attempt has ended: nobody listens there, or the connection is closed again.
    mutating func onEnd(of address: String, now: UInt64) {
        var target = targets[address] ?? Target()
        target.isDialing = false
        target.nextAt = now + target.pauseMilliseconds
        target.pauseMilliseconds = min(
            target.pauseMilliseconds * 2, Dialer.pauseMillisecondsMax)
        targets[address] = target
    }

    /// Has an address be dialled without a pause: there is reason to expect a member there.
    mutating func encourage(_ address: String) {
        guard var target = targets[address] else { return }
        target.nextAt = 0
        target.pauseMilliseconds = Dialer.pauseMillisecondsMin
        targets[address] = target
    }
}
