/// An inbound connection that has not yet authenticated, or not yet said hello, and the rule by
/// which such connections give way to new ones.
///
/// Their number is bounded. Where all places are taken, a connection of the source with the most
/// places is evicted for the one that arrives, so that a flood from one address does not displace
/// the handshakes of another; of that source first a silent one, which has sent nothing for
/// `graceMilliseconds`, and of several the oldest. An honest peer sends at once, and keeps its
/// place among any number of connections that never do.
package struct HandshakePlace: Hashable, Sendable {
    package let id: UInt64
    /// The host that dialled, without its port, which is another one each time.
    package let source: String
    /// When the connection arrived, in milliseconds.
    package let since: UInt64
    /// Whether anything has arrived on it.
    package var hasSpoken = false

    /// How long the first bytes of a connection may be on their way, in milliseconds: a round trip,
    /// and a turn of a busy loop.
    package static let graceMilliseconds: UInt64 = 50

    package init(id: UInt64, source: String, since: UInt64, hasSpoken: Bool = false) {
        self.id = id
        self.source = source
        self.since = since
        self.hasSpoken = hasSpoken
    }

    private func isSilent(now: UInt64) -> Bool {
        !hasSpoken && now >= since + HandshakePlace.graceMilliseconds
    }

    /// Returns the connection to evict for one that arrives; nil where there is none.
    ///
    /// - Parameters:
    ///   - places: the connections that are present, without the one that arrives.
    ///   - source: the host of the one that arrives.
    package static func evictee(
        of places: some Collection<HandshakePlace>, for source: String, now: UInt64
    ) -> UInt64? {
        var counts: [String: Int] = [source: 1]
        for place in places { counts[place.source, default: 0] += 1 }
        // The connection that arrives counts for its source, but is no candidate: so the greatest
        // count is taken from the others alone.
        let most = places.lazy.map { counts[$0.source, default: 0] }.max()
        let candidates = places.lazy.filter { counts[$0.source] == most }
        return candidates.min { left, right in
            let (leftIsSilent, rightIsSilent) = (left.isSilent(now: now), right.isSilent(now: now))
            if leftIsSilent != rightIsSilent { return leftIsSilent }
            return (left.since, left.id) < (right.since, right.id)
        }?.id
    }
}

/// The inbound connections of one port that have not authenticated yet; each may stay for a limited
/// time.
package struct HandshakeQueue: Sendable {
    private let placesMax: Int
    /// How long a connection may stay without authenticating, in milliseconds.
    private let millisecondsMax: UInt64
    /// In the order of arrival.
    private var places: [HandshakePlace] = []

    package init(placesMax: Int, millisecondsMax: UInt64) {
        self.placesMax = placesMax
        self.millisecondsMax = millisecondsMax
    }

    package var count: Int { places.count }

    /// Adds a connection.
    ///
    /// - Parameter hasSpoken: whether anything has arrived on a connection.
    /// - Returns: the connection that has to be closed for it, already removed here; nil for none.
    package mutating func onArrival(
        _ id: UInt64, from source: String, now: UInt64, hasSpoken: (UInt64) -> Bool
    ) -> UInt64? {
        var evictee: UInt64?
        if places.count >= placesMax {
            for index in places.indices { places[index].hasSpoken = hasSpoken(places[index].id) }
            evictee = HandshakePlace.evictee(of: places, for: source, now: now)
            if let evictee { onEnd(of: evictee) }
        }
        places.append(HandshakePlace(id: id, source: source, since: now))
        return evictee
    }

    /// Gives a connection its time anew, as if it had arrived now.
    package mutating func renew(_ id: UInt64, now: UInt64) {
        guard let index = places.firstIndex(where: { $0.id == id }) else { return }
        let source = places.remove(at: index).source
        places.append(HandshakePlace(id: id, source: source, since: now))
    }

    /// Removes a connection that has authenticated, or is gone.
    package mutating func onEnd(of id: UInt64) { places.removeAll { $0.id == id } }

    /// Removes and returns the connections whose time is over.
    package mutating func onTime(_ now: UInt64) -> [UInt64] {
        let late = places.prefix { now >= $0.since + millisecondsMax }
        places.removeFirst(late.count)
        return late.map(\.id)
    }
}
