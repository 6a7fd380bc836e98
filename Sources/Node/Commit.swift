import Membership
import StorePort
import Wire

/// The names under which a node stores its settings.
enum SettingName {
    static let cluster = "cluster"
    static let members = "members"
    static let pages = "pages"
}

/// A transaction that the node has passed to the store.
struct Commit: Sendable {
    let ticket: UInt64
    let shards: [ShardID]
    /// The shards whose replica the transaction removes from the disk.
    let drops: [ShardID]
    let settings: [Setting]
    /// The number of documents that the transaction stores.
    let records: Int
    /// When the node passed the transaction to the store, in microseconds.
    let since: UInt64

    /// The members that are in the transaction's member table and have not left; nil if the
    /// transaction stores no member table.
    var members: Set<NodeName>? {
        guard let table = settings.last(where: { $0.name == SettingName.members }) else {
            return nil
        }
        do throws(WireError) {
            return try MemberTable.decode(table.value).present
        } catch {
            // This process encoded the table itself, so that decoding succeeds. On an error no
            // member is counted as stored on disk.
            return nil
        }
    }
}

extension MemberTable {
    /// The names of the members that have not left the cluster.
    var present: Set<NodeName> {
        Set(entries.filter { $0.state != .left }.map(\.member.name))
    }
}
