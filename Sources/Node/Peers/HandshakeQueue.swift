/// An inbound connection that has not yet authenticated, or not yet sent its hello, and the rule by
/// which new connections evict such connections.
///
/// The number of such connections is bounded. If all places are taken, an arriving connection
/// evicts one from the source with the most places, so that a flood from one address does not
/// displace the handshakes of other addresses. Among that source's connections, the silent ones,
/// which have sent nothing for `graceMilliseconds`, are evicted first, and the oldest before the
/// others. An honest peer sends at once, and keeps its place beside any number of silent
/// connections.
package struct HandshakePlace: Hashable, Sendable {
    package let id: UInt64
    /// The host that dialled, without its port, because the port differs at each connection.
    package let source: String
    /// When the connection arrived, in milliseconds.
    package let since: UInt64
    /// Whether any bytes have arrived on the connection.
    package var hasSpoken = false

    /// The time that the first bytes of a connection may take to arrive, in milliseconds: a round
    /// trip, and an iteration of a busy event loop.
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

    /// Returns the connection to evict for an arriving connection; nil if there is none.
    ///
    /// - Parameters:
    ///   - places: the present connections, without the arriving connection.
    ///   - source: the host of the arriving connection.
    package static func evictee(
        of places: some Collection<HandshakePlace>, for source: String, now: UInt64
    ) -> UInt64? {
        var counts: [String: Int] = [source: 1]
        for place in places { counts[place.source, default: 0] += 1 }
        // The arriving connection counts for its source but cannot be evicted, so the maximum is
        // taken over the other connections alone.
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
    /// The waiting connections, in the order of arrival.
    private var places: [HandshakePlace] = []

    package init(placesMax: Int, millisecondsMax: UInt64) {
        self.placesMax = placesMax
        self.millisecondsMax = millisecondsMax
    }

    package var count: Int { places.count }

    /// Adds a connection that has just arrived.
    ///
    /// - Parameter hasSpoken: returns whether any bytes have arrived on a connection.
    /// - Returns: the connection to close in exchange, already removed here; nil for none.
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

    /// Restarts the time limit of a connection, as if the connection had arrived now.
    package mutating func renew(_ id: UInt64, now: UInt64) {
        guard let index = places.firstIndex(where: { $0.id == id }) else { return }
        let source = places.remove(at: index).source
        places.append(HandshakePlace(id: id, source: source, since: now))
    }

    /// Removes a connection that has authenticated or has been closed.
    package mutating func onEnd(of id: UInt64) { places.removeAll { $0.id == id } }

    /// Removes and returns the connections whose time limit has passed.
    package mutating func onTime(_ now: UInt64) -> [UInt64] {
        let late = places.prefix { now >= $0.since + millisecondsMax }
        places.removeFirst(late.count)
        return late.map(\.id)
    }
}
