import Wire

/// A change that is on its way to the others: what is sent is what the table then says.
struct News: Hashable, Sendable {
    let name: NodeName
    /// Who brought it, and need not be told.
    let from: NodeName?
    var sendsLeft: Int
}

/// Gossip: what comes in, what goes out.
extension Membership {
    /// Up to this many links each change goes to all of them at once.
    static let smallMesh = 8
    /// Above that, to this many at each tick.
    static let fanOut = 4
    /// The most that waits to be taken; what is beyond is dropped, and repaired by a later ping.
    static let outboxMax = 4_096

    /// The whole table of a peer, on connect or since the hashes differed.
    public mutating func learn(_ table: MemberTable, now: UInt64) {
        wake(now)
        absorb(table.entries, from: nil)
    }

    /// - Parameter name: who sent it.
    /// - Returns: how long the ping took that it answers, in milliseconds; nil if it answers none.
    @discardableResult
    public mutating func receive(
        _ gossip: Gossip, from name: NodeName, now: UInt64
    ) -> UInt64? {
        wake(now)
        guard name != me.name, peers[name] != nil else { return nil }
        sign(name)
        switch gossip {
        case .ping(let number, let hash, let entries):
            absorb(entries, from: name)
            send(.ack(number: number, tableHash: table.hash, []), to: name)
            compare(hash, with: name)
        case .ack(let number, let hash, let entries):
            let rtt = onAck(number, from: name)
            absorb(entries, from: name)
            compare(hash, with: name)
            return rtt
        case .probe(let number, let other): onProbe(number, of: other, from: name)
        case .heard(let number, let other): onIndirectAck(number, of: other, from: name)
        case .updates(let entries): absorb(entries, from: name)
        case .table(let table):
            absorb(table.entries, from: name)
            compare(table.hash, with: name)
        }
        return nil
    }

    private mutating func absorb(_ entries: [MemberEntry], from name: NodeName?) {
        for entry in entries { merge(entry, from: name) }
    }

    /// A table that differs is answered by this one: so nothing that was dropped stays missing.
    private mutating func compare(_ hash: UInt64, with name: NodeName) {
        guard hash != table.hash else { return }
        if let at = peers[name]?.tableSentAt, elapsed(since: at) < Timing.tableAgain { return }
        peers[name]?.tableSentAt = now
        send(.table(table), to: name)
    }

    /// A member hears it itself when it is not held to be alive: only it can say otherwise.
    mutating func tell(_ entry: MemberEntry) {
        let name = entry.member.name
        guard let peer = peers[name], peer.link != nil else { return }
        if let at = peer.toldAt, elapsed(since: at) < Timing.tellAgain { return }
        peers[name]?.toldAt = now
        send(.updates([entry]), to: name)
    }

    mutating func send(_ gossip: Gossip, to name: NodeName) {
        guard outbox.count < Membership.outboxMax else { return }
        outbox.append((name, gossip))
    }

    /// One name stands there once, so there is never more than the table holds.
    mutating func announce(_ name: NodeName, from: NodeName?) {
        news.removeAll { $0.name == name }
        // About 3 log2(n) times each (SWIM, section 4.1).
        let doublings = Int.bitWidth - linked.count.leadingZeroBitCount
        news.append(News(name: name, from: from, sendsLeft: 3 * max(1, doublings)))
    }

    mutating func spreadToAll() {
        guard !news.isEmpty, linked.count <= Membership.smallMesh else { return }
        for name in linked { sendNews(to: name) }
        news = []
    }

    mutating func spreadToSome() {
        guard !news.isEmpty, linked.count > Membership.smallMesh else { return }
        for name in linked.shuffled(using: &random).prefix(Membership.fanOut) {
            sendNews(to: name)
        }
        for index in news.indices { news[index].sendsLeft -= Membership.fanOut }
        news.removeAll { $0.sendsLeft <= 0 }
    }

    private mutating func sendNews(to name: NodeName) {
        var entries = news.filter { $0.from != name }.compactMap { table[$0.name] }[...]
        while !entries.isEmpty {
            send(.updates(Array(entries.prefix(Gossip.entriesMax))), to: name)
            entries = entries.dropFirst(Gossip.entriesMax)
        }
    }
}
