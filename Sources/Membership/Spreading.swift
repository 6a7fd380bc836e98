import Wire

/// A change that is being gossiped; the entry sent is the one in the table at that time.
struct News: Hashable, Sendable {
    let name: NodeName
    /// The member that sent the change and need not be told.
    let from: NodeName?
    var sendsLeft: Int
}

/// The sending and receiving of gossip.
extension Membership {
    /// The number of connections up to which each change is sent to all of them at once.
    static let smallMesh = 8
    /// The number of members that each change is sent to per tick in a larger cluster.
    static let fanOut = 4
    /// The greatest number of messages in the outbox; further ones are dropped, and a later ping
    /// repairs the loss.
    static let outboxMax = 4_096

    /// Merges the whole table of a peer, sent on connect or after the hashes differed.
    public mutating func learn(_ table: MemberTable, now: UInt64) {
        wake(now)
        absorb(table.entries, from: nil)
    }

    /// - Parameter name: the sender.
    /// - Returns: the round-trip time in milliseconds if the message answers a ping; nil otherwise.
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

    /// Answers a different table with this one, so that no dropped update remains missing.
    private mutating func compare(_ hash: UInt64, with name: NodeName) {
        guard hash != table.hash else { return }
        if let at = peers[name]?.tableSentAt, elapsed(since: at) < Timing.tableAgain { return }
        peers[name]?.tableSentAt = now
        send(.table(table), to: name)
    }

    /// Tells a member that it is not considered alive, since only the member itself can refute
    /// that.
    mutating func enqueue(_ entry: MemberEntry) {
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

    /// Queues a change; each name is queued once, so there are never more changes than table
    /// entries.
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
