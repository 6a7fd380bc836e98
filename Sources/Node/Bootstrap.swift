/// Which of several nodes that start together with empty folders founds their cluster, and when.
///
/// Each is given the same list of addresses, its own among them. The node at the first address
/// founds, and only while every other one says that it is in no cluster either. So a node that has
/// lost its disk never founds a second cluster beside the one it was in: who is in it takes it in,
/// and as long as any of the list does not answer, it waits.
struct Bootstrap: Sendable {
    /// How long the word of a node without a cluster counts, in milliseconds: it is asked again
    /// several times a second.
    static let answerMilliseconds: UInt64 = 3_000

    private let addresses: [String]
    /// Those that turned out to be this node's own.
    private var own: Set<String> = []
    /// When each of the others last said that it is in no cluster.
    private var emptyAt: [String: UInt64] = [:]

    init(_ addresses: [String]) { self.addresses = addresses }

    /// What a node at an address said instead of a hello.
    mutating func note(_ reason: Rejection, from address: String, now: UInt64) {
        guard addresses.contains(address) else { return }
        switch reason {
        case .oneself: own.insert(address)
        case .noCluster: emptyAt[address] = now
        case .nameTaken, .otherCluster, .otherVersion, .connected: emptyAt[address] = nil
        }
    }

    /// Whether this node is to found the cluster of them all.
    func isDue(now: UInt64) -> Bool {
        guard let first = addresses.first, own.contains(first) else { return false }
        return missing(now: now).isEmpty
    }

    /// Of whom it is not known that they are in no cluster, in the order of the list.
    func missing(now: UInt64) -> [String] {
        addresses.filter { address in
            guard !own.contains(address) else { return false }
            return emptyAt[address].map { now >= $0 + Bootstrap.answerMilliseconds } ?? true
        }
    }
}

extension Node {
    /// After how long without a cluster that is said, and how often then, in milliseconds.
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
            .info,
            "waiting for a cluster: start a node that is in it, or all of --join "
                + "without=\(missing.joined(separator: ","))")
    }
}
