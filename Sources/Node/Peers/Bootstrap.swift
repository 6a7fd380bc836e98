import Membership
import Placement
import Wire

/// The decision which of several nodes that start together with empty folders founds their cluster,
/// and when.
///
/// Each node is given the same list of addresses, its own among them. The node at the first address
/// founds the cluster, and only while every other one says that it is in no cluster either. So a
/// node that has lost its disk never founds a second cluster beside the one that it was in: a
/// member of that cluster takes it in, and as long as any node of the list does not answer, it
/// waits.
struct Bootstrap: Sendable {
    /// How long a node's answer that it is in no cluster counts, in milliseconds; each is asked
    /// several times a second.
    static let answerMilliseconds: UInt64 = 3_000

    private let addresses: [String]
    /// The addresses that turned out to be this node's own.
    private var own: Set<String> = []
    /// When the node at each other address last said that it is in no cluster, in milliseconds.
    private var emptyAt: [String: UInt64] = [:]

    init(_ addresses: [String]) { self.addresses = addresses }

    /// Records the rejection by which a connection to an address ended.
    mutating func recordRejection(_ reason: Rejection, from address: String, now: UInt64) {
        guard addresses.contains(address) else { return }
        switch reason {
        case .oneself: own.insert(address)
        case .noCluster: emptyAt[address] = now
        case .nameTaken, .otherCluster, .otherVersion, .connected: emptyAt[address] = nil
        }
    }

    /// Whether this node is to found the cluster now.
    func isDue(now: UInt64) -> Bool {
        guard let first = addresses.first, own.contains(first) else { return false }
        return missing(now: now).isEmpty
    }

    /// The addresses whose nodes are not known to be without a cluster, in the order of the list.
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

    /// Logs that no node answers at an address that an operator gave, since it may be wrong.
    ///
    /// Once for each address; before this node is in a cluster, in one line once no address
    /// answers. Nodes that are started together (`--bootstrap`) log nothing.
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
