import CRDT

extension Document {
    /// The dots of all sendings of a message, beginning with the dot of its header; there are
    /// several if the message was sent on several sides of a network partition.
    public var sendings: [Dot] {
        guard let message else { return [] }
        return [message.header.dot] + message.losingSends.dots
    }

    /// The dots of the sendings that `changedBy` does not contain, because a later change by the
    /// same replica id has replaced them there.
    public var sendingsReplaced: [Dot] {
        guard let message else { return [] }
        let isFirstNamed = changedBy.dots.contains(message.header.dot)
        if isFirstNamed, message.losingSends.isEmpty { return [] }
        return sendings.filter { !changedBy.dots.contains($0) }
    }
}

extension Message {
    /// Returns the losing sends' dots after a merge with `other`, in which the header `winner`
    /// wins.
    func losingSends(with other: Message, under winner: Header) -> Context {
        var all = losingSends
        all.merge(other.losingSends)
        for dot in [header.dot, other.header.dot] { all.insert(dot) }
        var rest = Context()
        for dot in all.dots where dot != winner.dot { rest.insert(dot) }
        return rest
    }
}
