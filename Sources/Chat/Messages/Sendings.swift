import CRDT

extension Document {
    /// The dots by which a message was sent, that of its header first; several where it was sent on
    /// several sides of a network partition.
    public var sendings: [Dot] {
        guard let message else { return [] }
        return [message.header.dot] + message.losingSends.dots
    }

    /// The seqs of those sendings that later changes of the same replicas have replaced in
    /// `changedBy`.
    public var sendingsReplaced: [Dot] {
        guard let message else { return [] }
        let isFirstNamed = changedBy.dots.contains(message.header.dot)
        if isFirstNamed, message.losingSends.isEmpty { return [] }
        return sendings.filter { !changedBy.dots.contains($0) }
    }
}

extension Message {
    /// Returns the losing sends after a merge with `other`, in which the header `winner` wins.
    func losingSends(with other: Message, under winner: Header) -> Context {
        var all = losingSends
        all.merge(other.losingSends)
        for dot in [header.dot, other.header.dot] { all.insert(dot) }
        var rest = Context()
        for dot in all.dots where dot != winner.dot { rest.insert(dot) }
        return rest
    }
}
