import Wire

/// The schedule of dialling: a wanted address is dialled repeatedly until it is connected.
struct Dialer: Sendable {
    private struct Target {
        var isDialing = false
        var nextAt: UInt64 = 0
        var pauseMilliseconds = Dialer.pauseMillisecondsMin
    }

    /// The pause after the first failed attempt, in milliseconds; each further failure doubles it.
    static let pauseMillisecondsMin: UInt64 = 100
    static let pauseMillisecondsMax: UInt64 = 500

    /// The time for which an ended pause of an unwanted address is remembered, in milliseconds.
    ///
    /// The pause is remembered because an address may lead to a member repeatedly, each time by a
    /// connection that soon ends.
    static let memoryMilliseconds: UInt64 = 10_000

    /// The state of each address.
    private var targets: [String: Target] = [:]

    /// Returns the wanted addresses to dial now, and marks them as being dialled.
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

    /// Handles a slow attempt: another connection to the address may be tried in parallel.
    mutating func onSlow(_ address: String) {
        guard targets[address]?.isDialing ?? false else { return }
        targets[address]?.isDialing = false
    }

    /// Handles the end of an attempt: nothing listens at the address, or the connection was closed.
    mutating func onEnd(of address: String, now: UInt64) {
        var target = targets[address] ?? Target()
        target.isDialing = false
        target.nextAt = now + target.pauseMilliseconds
        target.pauseMilliseconds = min(
            target.pauseMilliseconds * 2, Dialer.pauseMillisecondsMax)
        targets[address] = target
    }

    /// Makes the next dial of an address start without a pause, because a member is expected there.
    mutating func encourage(_ address: String) {
        guard var target = targets[address] else { return }
        target.nextAt = 0
        target.pauseMilliseconds = Dialer.pauseMillisecondsMin
        targets[address] = target
    }
}
