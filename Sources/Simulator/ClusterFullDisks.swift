import LineProtocol

/// What a full disk may refuse.
extension ClusterWorld {
    /// How long a node may take to notice how full its disk is, with all that it had handed to the
    /// disk before, in microseconds.
    private static let noticeMicroseconds: UInt64 = 250_000

    /// Deletions pass on a full disk, once its node knows that it is one.
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

    /// Notes what passed where nothing else does.
    func notePassed(_ request: ClusterRequest, at machine: Int) {
        guard machines[machine].fullBy > 0 else { return }
        switch request.kind {
        case .retract, .hide: coverage.count("deleted beside a full disk")
        default: return
        }
    }
}

extension ClusterMachine {
    /// Whether neither its disk nor its process changed its state shortly before.
    func isCalm(since moment: UInt64, _ microseconds: UInt64) -> Bool {
        max(fullChangedAt, pausedUntil) + microseconds < moment
    }
}
