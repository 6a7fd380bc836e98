import Chat
import LineProtocol
import Node
import Replication
import StorePort

/// Requests that begin after all earlier replies, and are answered when their work is done.
extension Admin {
    package func begin(
        _ request: Request, for slot: ReplySlot, on connection: ConnectionState
    ) -> Answer {
        if case .since(let token) = request { return begin(since: token, for: slot) }
        if case .unwatch = request {
            node.assumeIsolated { $0.unwatch(slot.session) }
            return .now(.done)
        }
        if case .notifications(let device, let user, let page) = request {
            return notifications(for: device, of: user, page, for: slot, on: connection)
        }
        let begun: Result<Void, OperationFailure> = node.assumeIsolated { node in
            switch request {
            case .backup(let file): return node.backUp(to: file, for: slot)
            case .scrub:
                node.scrub(for: slot)
                return .success(())
            case .watch(let watch):
                return node.watch(
                    watch.user, as: StreamOptions(watch), for: slot, after: connection.unsettled)
            default: preconditionFailure("answered elsewhere")
            }
        }
        switch begun {
        case .success:
            let isExact = if case .watch(let watch) = request { watch.isExact } else { false }
            return .later(
                DeferredReply(form: .awaited(bytes: 0), page: isExact ? .whole.exact : .whole))
        case .failure(let failure): return .now(.failed(LineError(failure)))
        }
    }
}

extension LineError {
    init(_ failure: BackupFailure) {
        switch failure {
        case .exists: self.init(409, "A file of that name exists; name another")
        case .noFolder: self.init(400, "There is no such folder on this node; make it first")
        case .forbidden: self.init(400, "This node may not write there; name another folder")
        case .full: self.init(503, "The disk is full: no room for a backup; name another disk")
        case .failed(let reason): self.init(500, "No backup was made: \(reason)")
        }
    }
}
