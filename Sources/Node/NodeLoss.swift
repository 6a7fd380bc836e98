import Replication
import Wire

/// Acknowledged commits that the disk has lost: the log that held them is damaged.
///
/// What is left is an earlier state, with nothing to say what came after it, and shows texts that
/// were deleted since. Complete replicas of other nodes make it whole; a node without others stays
/// up, says so, and shows nothing, unless whoever runs it tells it to.
extension Node {
    /// What whoever runs a node can do that has nobody to fetch from.
    package static let lossAdvice =
        "no other node is known that has what is missing: put a backup back, or start once with "
        + "--accept-data-loss to serve what is left"

    /// Whether there may be others that have what is missing.
    var mayBeFilled: Bool { !others.isEmpty || !options.join.isEmpty }

    /// Says what is missing, and takes what is left for all there is where the node is told to.
    func noteLoss() {
        guard let loss else { return }
        guard !options.acceptsDataLoss else {
            ports.host.log(.error, "\(loss): going on without acknowledged writes, as told")
            return endLoss()
        }
        ports.host.log(
            .error,
            mayBeFilled
                ? "\(loss): fetching acknowledged writes from other nodes"
                : "\(loss), and \(Node.lossAdvice)")
    }

    private func endLoss() {
        loss = nil
        ports.store.forgetLoss()
    }

    /// Every copy here waits for one that is complete.
    func doubtShards() {
        guard loss != nil else { return }
        for shard in shards { within(shard) { $0.doubt() } }
    }

    /// Each tick: whether all that was missing has been fetched.
    func settleLoss() {
        guard loss != nil, cluster != nil, !isEnding,
            !shards.contains(where: { $0.assumeIsolated { $0.isDoubted } })
        else { return }
        endLoss()
        ports.host.log(.info, "acknowledged writes that were missing have been fetched")
    }
}
