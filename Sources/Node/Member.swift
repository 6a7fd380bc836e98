import Wire

/// A node as the others know it.
package struct Member: Hashable, Sendable {
    package let name: NodeName
    /// Where it talks to the other nodes, as host:port.
    package let gossip: String
    /// Where it takes lines.
    package let admin: String
    /// Raised by the member itself, at each start: what it says later about itself replaces what
    /// was known.
    package let incarnation: UInt64

    package init(name: NodeName, gossip: String, admin: String, incarnation: UInt64) {
        self.name = name
        self.gossip = gossip
        self.admin = admin
        self.incarnation = incarnation
    }
}

extension Member: WireValue {
    /// The most bytes of an address.
    static let addressBytesMax = 256
    /// The greatest incarnation that is believed: they begin as milliseconds since 1970, and go up
    /// one by one.
    static let incarnationMax: UInt64 = 1 << 62

    package func encode(into writer: inout ByteWriter) {
        writer.write(name)
        writer.write(gossip)
        writer.write(admin)
        writer.write(varint: incarnation)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        name = try reader.readName()
        gossip = try reader.readText(limit: Member.addressBytesMax)
        admin = try reader.readText(limit: Member.addressBytesMax)
        incarnation = try reader.readVarint()
        guard incarnation <= Member.incarnationMax else { throw .invalid("an incarnation") }
    }
}

/// Who belongs to the cluster: one entry a name, the one with the greatest incarnation.
package struct MemberTable: Hashable, Sendable {
    /// The most members of a cluster.
    static let membersMax = 100

    /// Ascending by name.
    package private(set) var members: [Member] = []

    package init() {}

    package subscript(name: NodeName) -> Member? { members.first { $0.name == name } }

    /// Adds a member, or what is later known of one.
    ///
    /// - Returns: whether that changed the table.
    package mutating func learn(_ member: Member) -> Bool {
        let index = members.firstIndex { $0.name >= member.name } ?? members.endIndex
        if index < members.endIndex, members[index].name == member.name {
            guard members[index].incarnation < member.incarnation else { return false }
            members[index] = member
        } else {
            guard members.count < MemberTable.membersMax else { return false }
            members.insert(member, at: index)
        }
        return true
    }

    package mutating func learn(_ table: MemberTable) -> Bool {
        var isChanged = false
        for member in table.members where learn(member) { isChanged = true }
        return isChanged
    }
}

extension MemberTable: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(count: members.count)
        for member in members { member.encode(into: &writer) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.readCount(limit: MemberTable.membersMax)) {
            _ = learn(try Member(from: &reader))
        }
    }
}
