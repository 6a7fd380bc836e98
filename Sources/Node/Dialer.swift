import Wire

/// Whom to dial, and when: every member that there is no connection to, for ever.
struct Dialer: Sendable {
    private struct Target {
        var isDialing = false
        var nextAt: UInt64 = 0
        var pauseMilliseconds = Dialer.pauseMillisecondsMin
    }

    /// The pause after the first failure, in milliseconds; it doubles.
    static let pauseMillisecondsMin: UInt64 = 100
    static let pauseMillisecondsMax: UInt64 = 500

    /// How long a failure counts, in milliseconds, where the address leads to a member again and
    /// again and to nothing that lasts.
    static let memoryMilliseconds: UInt64 = 10_000

    /// By address.
    private var targets: [String: Target] = [:]

    /// The addresses to dial now, out of those wanted.
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

    /// What was dialled does not answer: another connection may be tried beside it.
    mutating func onSlow(_ address: String) {
        guard targets[address]?.isDialing ?? false else { return }
        targets[address]?.isDialing = false
    }

    /// The dial came to an end: nobody there, or a connection that is closed again.
    mutating func onEnd(of address: String, now: UInt64) {
        var target = targets[address] ?? Target()
        target.isDialing = false
        target.nextAt = now + target.pauseMilliseconds
        target.pauseMilliseconds = min(
            target.pauseMilliseconds * 2, Dialer.pauseMillisecondsMax)
        targets[address] = target
    }

    /// The address led to a member, or there is reason to think that it would.
    mutating func encourage(_ address: String) {
        guard var target = targets[address] else { return }
        target.nextAt = 0
        target.pauseMilliseconds = Dialer.pauseMillisecondsMin
        targets[address] = target
    }
}
