import Replication
import StorePort
import Wire

/// The loss of acknowledged commits: the log on disk that held them is damaged.
///
/// What is left is an earlier state. It does not tell what came after it, and it contains texts
/// that were deleted since. Complete shard replicas of other nodes supply what is missing. A node
/// without other members stays up, logs the loss and serves nothing, unless it was started with
/// `--accept-data-loss`.
extension Node {
    /// The advice for the operator of a node that has no other to fetch from.
    package static let lossAdvice =
        "no other node is known that has what is missing: put a backup back, or start once with "
        + "--accept-data-loss to serve what is left"

    /// Whether there may be other nodes that have what is missing.
    var mayBeFilled: Bool { !others.isEmpty || !options.join.isEmpty }

    /// Logs the loss; with `--accept-data-loss` ends it, so that what is left counts as everything.
    func noteLoss() {
        guard let loss else { return }
        guard !options.acceptsDataLoss else {
            ports.host.log(
                .error, "\(loss): continues without acknowledged writes (--accept-data-loss)")
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

    /// Marks all shard replicas here as incomplete after a loss: each serves only once it has
    /// received what a complete one holds.
    func doubtShards() {
        guard loss != nil else { return }
        for shard in shards { within(shard) { $0.doubt() } }
    }

    /// At each tick, ends the loss once all that was missing has been fetched.
    func settleLoss() {
        guard loss != nil, cluster != nil, !isEnding,
            !shards.contains(where: { $0.assumeIsolated { $0.isDoubted } })
        else { return }
        endLoss()
        ports.host.log(.info, "acknowledged writes that were missing have been fetched")
    }
}
