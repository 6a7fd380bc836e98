import Membership
import StorePort
import Wire

/// The names under which a node stores its settings.
enum SettingName {
    static let cluster = "cluster"
    static let members = "members"
    static let pages = "pages"
}

/// One transaction that was handed to the store.
struct Commit: Sendable {
    let ticket: UInt64
    let shards: [ShardID]
    /// The shards whose replica the transaction removes from the disk.
    let drops: [ShardID]
    let settings: [Setting]
    /// The number of documents that it stores.
    let records: Int
    /// When it was handed to the store, in microseconds.
    let since: UInt64

    /// The members that have not left in the member table that the transaction stores; nil where it
    /// stores none.
    var members: Set<NodeName>? {
        guard let table = settings.last(where: { $0.name == SettingName.members }) else {
            return nil
        }
        do throws(WireError) {
            return try MemberTable.decode(table.value).present
        } catch {
            // What this process has encoded is read; no member is taken to be on disk without it.
            return nil
        }
    }
}

extension MemberTable {
    /// The names of the members that have not left.
    var present: Set<NodeName> {
        Set(entries.filter { $0.state != .left }.map(\.member.name))
    }
}
