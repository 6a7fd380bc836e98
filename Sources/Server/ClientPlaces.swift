/// The places of the clients of one port.
///
/// Where all are taken, whoever holds the most loses one for a client that arrives: an address, or
/// a user, who may come from many. A client that arrives from the address with the most is refused.
struct ClientPlaces: Sendable {
    /// A holder of places.
    enum Holder: Hashable, Sendable {
        case address(String)
        case user(String)
    }

    private struct Place: Sendable {
        var address: String
        var user: String?

        var holders: [Holder] { [.address(address)] + (user.map { [.user($0)] } ?? []) }
    }

    private var places: [UInt64: Place] = [:]
    /// The clients of each holder, in the order in which they came to be theirs.
    private var clients: [Holder: [UInt64]] = [:]
    /// The holders of so many places, by number.
    private var holders: [Int: Set<Holder>] = [:]
    private var most = 0
    let countMax: Int

    init(countMax: Int) { self.countMax = countMax }

    var count: Int { places.count }

    /// Gives a client a place.
    ///
    /// - Parameter isFull: whether there is no place, however many are taken here.
    /// - Returns: the client that loses its place for it, which may be itself; nil for none.
    mutating func add(_ id: UInt64, from address: String, isFull: Bool = false) -> UInt64? {
        var loser: UInt64?
        if isFull || count >= countMax {
            let mine = clients[.address(address)]?.count ?? 0
            guard most > mine + 1, let greedy = clientOfGreediest else { return id }
            remove(greedy)
            loser = greedy
        }
        place(id, Place(address: address, user: nil))
        return loser
    }

    /// Notes who a client is, and where a proxy says that it is.
    mutating func identify(_ id: UInt64, as user: String?, from address: String) {
        guard let known = places[id], known.address != address || known.user != user else { return }
        remove(id)
        place(id, Place(address: address, user: user))
    }

    /// Returns whose place a client has: its user's, or that of its address; nil for none.
    func holder(of id: UInt64) -> Holder? {
        guard let place = places[id] else { return nil }
        return place.user.map(Holder.user) ?? .address(place.address)
    }

    mutating func remove(_ id: UInt64) {
        guard let place = places.removeValue(forKey: id) else { return }
        for holder in place.holders { change(holder) { $0.removeAll { $0 == id } } }
    }

    private mutating func place(_ id: UInt64, _ place: Place) {
        places[id] = place
        for holder in place.holders { change(holder) { $0.append(id) } }
    }

    private mutating func change(_ holder: Holder, _ body: (inout [UInt64]) -> Void) {
        let before = clients[holder]?.count ?? 0
        body(&clients[holder, default: []])
        let after = clients[holder]?.count ?? 0
        if after == 0 { clients[holder] = nil }
        holders[before]?.remove(holder)
        if after > 0 { holders[after, default: []].insert(holder) }
        most = max(most, after)
        while most > 0, holders[most]?.isEmpty ?? true {
            holders[most] = nil
            most -= 1
        }
    }

    /// The client that came last of the holder with the most; of an address, one that nobody has
    /// signed in on goes first.
    private var clientOfGreediest: UInt64? {
        // A user's places are their own, where an address may be many users'.
        let users = holders[most]?.filter { if case .user = $0 { true } else { false } }
        guard let greediest = users?.first ?? holders[most]?.first else { return nil }
        let ids = clients[greediest] ?? []
        return ids.last { places[$0]?.user == nil } ?? ids.last
    }
}
