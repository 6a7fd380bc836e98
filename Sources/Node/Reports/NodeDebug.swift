import Membership
import Replication
import Wire

/// The log lines of the level `debug` (`--log debug`), which help to diagnose faults.
///
/// Debug lines never contain texts of users, because a deleted text must not remain in any log.
extension Node {
    package nonisolated func debug(_ line: @autoclosure () -> String) {
        guard isDebugging else { return }
        ports.host.log(.debug, line())
    }

    nonisolated func debug(_ frame: Frame, from peer: NodeName) {
        guard isDebugging, let shard = frame.shard else { return }
        ports.host.log(.debug, "heard \(Node.summary(of: frame)) shard=\(shard) peer=\(peer)")
    }

    nonisolated func debug(_ frame: WatchFrame, from peer: NodeName) {
        debug("heard \(Node.summary(of: frame)) peer=\(peer)")
    }

    private static func summary(of frame: WatchFrame) -> String {
        switch frame {
        case .users(let users): "users count=\(users.count)"
        case .watch(let number, _): "watch number=\(number)"
        case .unwatch: "unwatch"
        case .open(let shard, let number, let since):
            "open shard=\(shard) number=\(number) since=\(since != nil)"
        case .close(let shard, let number): "close shard=\(shard) number=\(number)"
        case .replay(let shard, let number, _, _, _): "replay shard=\(shard) number=\(number)"
        case .watched(let number, let concerns, _):
            "watched number=\(number) concerns=\(concerns.count)"
        case .told(let shard, let number, let told, let position):
            "told shard=\(shard) number=\(number) events=\(told.count) level=\(position != nil)"
        case .scanning(let shard, let number, _): "scanning shard=\(shard) number=\(number)"
        case .replayed(let shard, let number, _): "replayed shard=\(shard) number=\(number)"
        case .lowered(let shard, let number, _): "lowered shard=\(shard) number=\(number)"
        case .refused(let shard, let number): "refused shard=\(shard) number=\(number)"
        }
    }

    private static func summary(of frame: Frame) -> String {
        switch frame {
        case .push(_, let encodedDocuments, _): "push documents=\(encodedDocuments.count)"
        case .confirm: "confirm"
        case .check: "check"
        case .summary: "summary"
        case .hashes(let hashes): "hashes count=\(hashes.count)"
        case .offer(let offer): "offer answer=\(offer.isAnswer)"
        case .pull(_, let number, _): "pull number=\(number)"
        case .batch(_, let number, let index, let encodedDocuments):
            "batch number=\(number) index=\(index) documents=\(encodedDocuments.count)"
        case .done(_, let number, let batches, _): "done number=\(number) batches=\(batches)"
        case .broken(_, let number): "broken number=\(number)"
        case .seek: "seek"
        case .absent: "absent"
        case .inquiry(_, let number): "inquiry number=\(number)"
        case .report(_, let number, _): "report number=\(number)"
        case .handover(_, let mark, _): "handover mark=\(mark)"
        case .accept(_, let mark, _): "accept mark=\(mark)"
        }
    }
}
