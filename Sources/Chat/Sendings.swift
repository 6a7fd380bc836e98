import CRDT

extension Document {
    /// The dots by which a message was sent: one, or one for each side of a cut that sent it; that
    /// of its header first.
    public var sendings: [Dot] {
        guard let message else { return [] }
        let replica = message.header.sent.replica
        // Who wrote before headers named their seq: the last by which that replica changed it.
        let seq = message.header.seq ?? changedBy.seq(of: replica)
        return (seq > 0 ? [Dot(replica: replica, seq: seq)] : []) + message.rivals.dots
    }
}

extension Message.Header {
    /// By which it was sent; nil on older disks.
    var dot: Dot? { seq.map { Dot(replica: sent.replica, seq: $0) } }
}

extension Message {
    /// The sendings of this message whose headers lost, once another state's are known too.
    func rivals(with other: Message, under winner: Header) -> Context {
        var all = rivals
        all.merge(other.rivals)
        for dot in [header.dot, other.header.dot].compactMap(\.self) { all.insert(dot) }
        var rest = Context()
        for dot in all.dots where dot != winner.dot { rest.insert(dot) }
        return rest
    }
}
