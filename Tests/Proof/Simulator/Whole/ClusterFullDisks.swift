import LineProtocol

/// The checks of what a node refuses when its disk is full.
extension ClusterWorld {
    /// The limit of the time in which a node notices how full its disk is, with all commits that it
    /// handed in before, in microseconds.
    private static let noticeMicroseconds: UInt64 = 250_000

    /// Checks that deletions succeed on a full disk once the node knows that it is full.
    func judgeRefusal(_ answer: ClusterAnswer, to request: ClusterRequest) {
        guard case .error(let error) = answer.status, error.code == 503,
            error.sentence.hasPrefix("The disk is full")
        else { return }
        switch request.kind {
        case .retract, .hide: break
        default: return coverage.count("refused for a full disk")
        }
        let isCalm = machines.allSatisfy { machine in
            machine.isSlow == 0
                && machine.isCalm(since: request.at, ClusterWorld.noticeMicroseconds)
        }
        guard isCalm else { return }
        fail(.sound, "a full disk refuses \(request.text)")
    }

    /// Counts the requests that succeeded although the disk was full.
    func notePassed(_ request: ClusterRequest, at machine: Int) {
        guard machines[machine].fullBy > 0 else { return }
        switch request.kind {
        case .retract, .hide: coverage.count("deleted beside a full disk")
        default: return
        }
    }
}

extension ClusterMachine {
    /// Whether neither the disk nor the process of the machine changed its state shortly before.
    func isCalm(since moment: UInt64, _ microseconds: UInt64) -> Bool {
        max(fullChangedAt, pausedUntil) + microseconds < moment
    }
}
