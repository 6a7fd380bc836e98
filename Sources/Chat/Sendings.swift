import CRDT

extension Document {
    /// The dots by which a message was sent: one, or one for each side of a cut that sent it; that
    /// of its header first.
    public var sendings: [Dot] {
        guard let message else { return [] }
        return [message.header.dot] + message.losingSends.dots
    }
}

extension Message {
    /// The sendings of this message whose headers lost, once another state's are known too.
    func losingSends(with other: Message, under winner: Header) -> Context {
        var all = losingSends
        all.merge(other.losingSends)
        for dot in [header.dot, other.header.dot] { all.insert(dot) }
        var rest = Context()
        for dot in all.dots where dot != winner.dot { rest.insert(dot) }
        return rest
    }
}
