import Replication
import StorePort
import Wire

/// The loss of acknowledged commits, after damage to the write log on disk that contained them.
///
/// The remaining data is an earlier state. This state lacks all later commits, and contains texts
/// that later commits deleted. Complete shard replicas of other nodes supply the missing data. A
/// node without other members continues to run, logs the loss and serves no requests, unless it was
/// started with `--accept-data-loss`.
extension Node {
    /// The advice for the operator of a node that has no other node to fetch from.
    package static let lossAdvice =
        "no other node is known that has what is missing: put a backup back, or start once with "
        + "--accept-data-loss to serve what is left"

    /// Whether other nodes may exist that have the missing data.
    var mayBeFilled: Bool { !others.isEmpty || !options.join.isEmpty }

    /// Logs the loss.
    ///
    /// With `--accept-data-loss` the method ends the loss, so that the remaining data counts as
    /// complete.
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

    /// Marks all shard replicas of this node as incomplete after a loss.
    ///
    /// Each replica serves only after it has received everything that a complete replica contains.
    func doubtShards() {
        guard loss != nil else { return }
        for shard in shards { within(shard) { $0.doubt() } }
    }

    /// Ends the loss once all missing data has been fetched; called at each tick.
    func settleLoss() {
        guard loss != nil, cluster != nil, !isEnding,
            !shards.contains(where: { $0.assumeIsolated { $0.isDoubted } })
        else { return }
        endLoss()
        ports.host.log(.info, "acknowledged writes that were missing have been fetched")
    }
}
