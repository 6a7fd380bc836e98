import Membership
import Placement
import Wire

/// The decision which of several nodes that start together with empty folders founds a cluster.
///
/// Each node is given the same list of addresses, including its own. The node at the first address
/// founds the cluster, and only while every other node reports that it is in no cluster. A node
/// that has lost its disk thus never founds a second cluster beside its old cluster: a member of
/// the old cluster admits the node, and while any node of the list does not answer, the node waits.
struct Bootstrap: Sendable {
    /// The time for which a node's answer that it is in no cluster is valid, in milliseconds; each
    /// node is queried several times a second.
    static let answerMilliseconds: UInt64 = 3_000

    private let addresses: [String]
    /// The addresses that turned out to be this node's own.
    private var own: Set<String> = []
    /// When the node at each other address last reported that it is in no cluster, in milliseconds.
    private var emptyAt: [String: UInt64] = [:]

    init(_ addresses: [String]) { self.addresses = addresses }

    /// Records the rejection with which a node at an address ended a connection.
    mutating func recordRejection(_ reason: Rejection, from address: String, now: UInt64) {
        guard addresses.contains(address) else { return }
        switch reason {
        case .oneself: own.insert(address)
        case .noCluster: emptyAt[address] = now
        case .nameTaken, .otherCluster, .otherVersion, .connected: emptyAt[address] = nil
        }
    }

    /// Returns whether this node is to found the cluster now.
    func isDue(now: UInt64) -> Bool {
        guard let first = addresses.first, own.contains(first) else { return false }
        return missing(now: now).isEmpty
    }

    /// Returns the addresses whose nodes are not known to be without a cluster, in the given order.
    func missing(now: UInt64) -> [String] {
        addresses.filter { address in
            guard !own.contains(address) else { return false }
            return emptyAt[address].map { now >= $0 + Bootstrap.answerMilliseconds } ?? true
        }
    }
}

extension Node {
    /// The interval at which a node without a cluster logs that it waits for one, in milliseconds.
    private static let waitingMilliseconds: UInt64 = 10_000

    func tickBootstrap(now: UInt64) {
        guard cluster == nil else { return }
        if bootstrap?.isDue(now: now) ?? false {
            bootstrap = nil
            return found()
        }
        guard now >= waitingSaidAt + Node.waitingMilliseconds else { return }
        waitingSaidAt = now
        let missing = bootstrap?.missing(now: now) ?? unanswered.sorted()
        ports.host.log(
            .warn,
            "waiting for a cluster: start a node that is in it, or all of --join "
                + "without=\(missing.joined(separator: ","))")
    }

    /// Logs that no node answers at an address given by an operator, since it may be wrong.
    ///
    /// Each address is logged once. A node that is in no cluster yet logs one line, when none of
    /// the addresses answers. Nodes that are started together (`--bootstrap`) log nothing.
    func noteJoinUnanswered(_ address: String) {
        let isMember = membership.table.entries.contains { $0.member.gossip == address }
        guard unanswered.contains(address), !isMember, bootstrap == nil,
            silentJoins.insert(address).inserted
        else { return }
        if cluster != nil {
            ports.host.log(.warn, "no node answers at \(address), it is dialled until one does")
        } else if unanswered.isSubset(of: silentJoins) {
            let addresses = unanswered.sorted().joined(separator: ",")
            ports.host.log(
                .warn, "no node answers at --join \(addresses), they are dialled until one does")
        }
    }
}

extension Node {
    /// The settings of a cluster that this node founds.
    var settingsToFound: ClusterSettings {
        ClusterSettings(
            id: ports.entropy.nextID(), name: options.cluster ?? ClusterName(checked: "grapevine"),
            shards: options.shards ?? Node.shardsDefault,
            replicas: options.replicas ?? Replicas.standard)
    }
}
