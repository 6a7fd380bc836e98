import Membership
import Wire

/// The addresses at which browsers reach the pages of a node, such as `https://chat-1.example.org`;
/// an address is empty if the node has no such page.
package struct PageAddresses: Hashable, Sendable {
    /// The address of the chat page.
    package var chat: String
    /// The address of the page that shows the cluster.
    package var cluster: String

    /// The maximum length of each address, in bytes.
    package static let bytesMax = Member.addressBytesMax

    package init(chat: String = "", cluster: String = "") {
        self.chat = chat
        self.cluster = cluster
    }
}

extension PageAddresses: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(chat)
        writer.write(cluster)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        chat = try reader.readText(limit: PageAddresses.bytesMax)
        cluster = try reader.readText(limit: PageAddresses.bytesMax)
    }
}

/// The addresses of the other members' pages, as each member has last sent them on a connection.
///
/// The addresses are stored with the member table, so that a node that starts alone can name the
/// other nodes to its pages. Members that have left or were removed from the ring are not listed.
/// Browsers may still show pages from such members, so their addresses are kept as long as the
/// table contains the member.
struct MemberPages {
    private var addresses: [NodeName: PageAddresses] = [:]
    /// The page addresses of the members of the ring, ascending by the members' names.
    private(set) var listed: [PageAddresses] = []
    /// The addresses of all members, including those that have left, ascending by their names.
    private(set) var all: [PageAddresses] = []
    /// The number of changes of `listed` and `all`.
    private(set) var version = 0

    /// Records the page addresses that a member has sent.
    ///
    /// - Returns: whether the addresses are new.
    mutating func insert(
        _ said: PageAddresses, of member: NodeName, in table: MemberTable
    ) -> Bool {
        let known = said == PageAddresses() ? nil : said
        guard addresses[member] != known else { return false }
        addresses[member] = known
        _ = follow(table)
        return true
    }

    /// Applies a change of the member table.
    ///
    /// - Returns: whether the addresses of a member were dropped.
    mutating func follow(_ table: MemberTable) -> Bool {
        let count = addresses.count
        addresses = addresses.filter { table[$0.key] != nil }
        let kept = addresses.sorted { $0.key < $1.key }
        let list = kept.filter { table[$0.key]?.state.isInRing ?? false }.map(\.value)
        let everybody = kept.map(\.value)
        if list != listed || everybody != all {
            (listed, all) = (list, everybody)
            version += 1
        }
        return addresses.count != count
    }
}

extension MemberPages: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(count: addresses.count)
        for (name, said) in addresses.sorted(by: { $0.key < $1.key }) {
            writer.write(name)
            said.encode(into: &writer)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        for _ in 0..<(try reader.readCount(limit: MemberTable.entriesMax)) {
            let name: NodeName = try reader.readName()
            addresses[name] = try PageAddresses(from: &reader)
        }
    }
}
