import CRDT
import Chat
import LineProtocol
import Membership
import Node
import StorePort
import Wire

extension View where Subject == NodeReport {
    /// The state of the node that makes the report.
    static let node = View(
        "NODE",
        [
            .name("name") { $0.name.text },
            .text("version") { _ in Node.version },
            .count("protocol") { _ in 1 },
            .text("cluster") { $0.cluster?.text },
            .number("uptime") { $0.uptimeMilliseconds / 1_000 },
            .text("members") { "\($0.living)/\($0.members)" },
            .count("shards") { $0.shards },
            .number("conversations") { $0.conversations },
            .number("messages") { $0.messages },
            .number("rss") { $0.residentBytes },
            .flag("converged") { $0.isConverged },
            .flag("safe") { $0.isSafe },
            .text("clock") { $0.clockOffsetMilliseconds.map { "\($0)ms" } },
            .count("leaving") { $0.leavingShards },
            .text("digest") { $0.digest.description },
            .text("disk") { $0.isLocked ? "locked" : $0.isDiskFull ? "full" : nil },
            .text("damage") { $0.loss },
        ])
}

extension View where Subject == MemberReport {
    static let member = View(
        "MEMBER",
        [
            .name("name") { $0.member.name.text },
            // Eviction removes a member from the ring, so the member is shown as `left`.
            .text("state") { $0.state == .evicted ? "left" : $0.state.description },
            // Until an evicted member is forgotten, nodes wait for changes that only it may store.
            .flag("evicted") { $0.state == .evicted },
            .flag("self") { $0.isSelf },
            .text("gossip") { $0.member.gossip },
            .text("admin") { $0.member.admin },
            .number("incarnation") { $0.member.incarnation },
            .text("rtt") { $0.rttMilliseconds.map { Duration.milliseconds($0).asLineValue } },
            .number("behind") { $0.behind },
        ])
}

extension View where Subject == ShardReport {
    static let shard = View(
        "SHARD",
        [
            .number("id") { UInt64($0.shard.number) },
            .names("owners") { $0.owners.map(\.text) },
            .flag("here") { $0.held != nil },
            .text("state") { $0.held?.state.rawValue },
            .number("entities") { $0.held?.documents },
            .text("digest") { $0.held?.hash.description },
        ])
}

extension View where Subject == DigestReport {
    static let digest = View(
        "DIGEST",
        [
            .number("shard") { UInt64($0.shard.number) },
            .number("entities") { $0.documents },
            .text("hash") { $0.hash.description },
        ])
}

/// The changes with one replica id that a shard contains.
package struct ReplicaChanges: Sendable {
    let replica: ReplicaID
    /// The last seq of the changes that the shard contains from seq 1 on without a gap.
    let seq: UInt64
    /// The ranges of seqs that the shard contains after the first gap.
    let above: [ClosedRange<UInt64>]
}

extension View where Subject == ReplicaChanges {
    static let vector = View(
        "VECTOR",
        [
            .text("replica") { $0.replica.description },
            .number("seq") { $0.seq },
            .text("above") { changes in
                changes.above.isEmpty
                    ? nil
                    : changes.above.map { range in
                        range.count == 1
                            ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
                    }.joined(separator: ",")
            },
        ])
}

extension View where Subject == Subscriber {
    static let subscriber = View(
        "SUBSCRIBER",
        [
            .name("user") { $0.device.user.text },
            .name("device") { $0.device.id.text },
            .text("token") { $0.device.token },
            .number("stamp") { $0.device.registered.bits },
            .flag("first") { $0.isFirst },
        ])
}

/// A registered device, on which its user is notified.
package struct Subscriber: Sendable {
    package let device: RegisteredDevice
    /// Whether this node is the first of the living owners of the user's shard.
    package let isFirst: Bool
}

/// A file that an owner of the file's shard has to close or purge.
package struct DueFileReport: Sendable {
    let file: DueFile
    /// Whether this replica of the shard has caught up with all owners.
    let isInSync: Bool
    /// Whether this node is the first of the living owners of the file's shard.
    let isFirst: Bool
}

extension View where Subject == DueFileReport {
    static let due = View(
        "FILE",
        [
            .name("conversation") { $0.file.conversation.text },
            .name("id") { $0.file.id.text },
            .time("at") { $0.file.createdAt },
            .flag("closed") { $0.file.isClosed },
            .names("parts") { $0.file.parts.map(\.text) },
            .flag("synced") { $0.isInSync },
            .flag("first") { $0.isFirst },
        ])
}

extension View where Subject == Verb {
    /// The row with which `HELP` describes a verb.
    static let verb = View(
        "VERB",
        [
            .text("name") { $0.name },
            .text("usage") { $0.usage },
            .text("about") { $0.about },
            .text("example") { $0.example },
        ])
}

extension View where Subject == Limit {
    /// The row with which `HELP limits` describes a limit.
    static let limit = View(
        "LIMIT",
        [
            .text("name") { $0.name },
            .number("value") { $0.value },
            .text("unit") { $0.unit },
            .text("answer") { $0.answer },
        ])
}

extension View where Subject == ScrubReport {
    static let scrub = View(
        "OK",
        [
            .number("checked") { $0.checked },
            .number("bad") { $0.bad },
            .number("indexes") { $0.unindexed },
            .number("miscounted") { $0.miscounted },
            .number("busy") { $0.busy },
            .text("seconds") { seconds($0.milliseconds) },
        ])
}

extension View where Subject == BackupReport {
    static let backup = View(
        "OK",
        [
            .text("file") { $0.file },
            .number("bytes") { $0.bytes },
            .text("seconds") { seconds($0.milliseconds) },
        ])
}

/// Returns a number of milliseconds as seconds with three decimals.
private func seconds(_ milliseconds: UInt64) -> String {
    let rest = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
}
