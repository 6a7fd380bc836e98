/// Those who have connected and not yet shown that they may stay: so many, for so long.
///
/// Where all places are taken, who has been there longest goes: whoever may stay shows it in a
/// moment, and strangers who wait for nothing do not keep the others out.
struct Lobby: Sendable {
    private let placesMax: Int
    private let millisecondsMax: UInt64
    /// In the order in which they came.
    private var waiting: [(id: UInt64, since: UInt64)] = []

    init(placesMax: Int, millisecondsMax: UInt64) {
        self.placesMax = placesMax
        self.millisecondsMax = millisecondsMax
    }

    var count: Int { waiting.count }

    /// - Returns: who has to go for it.
    mutating func onArrival(_ id: UInt64, now: UInt64) -> UInt64? {
        waiting.append((id, now))
        return waiting.count > placesMax ? waiting.removeFirst().id : nil
    }

    /// It may stay, or has gone.
    mutating func onEnd(of id: UInt64) { waiting.removeAll { $0.id == id } }

    /// Who has waited too long, and goes.
    mutating func onTime(_ now: UInt64) -> [UInt64] {
        let late = waiting.prefix { now >= $0.since + millisecondsMax }
        waiting.removeFirst(late.count)
        return late.map(\.id)
    }
}
