import Replication
import StorePort

/// The result of a backup.
package struct BackupReport: Hashable, Sendable {
    /// The path of the backup.
    package let file: String
    package let bytes: UInt64
    /// The duration of the backup, in milliseconds.
    package let milliseconds: UInt64
}

/// A backup that is running.
struct RunningBackup: Sendable {
    let slot: ReplySlot
    let since: UInt64
}

extension Node {
    /// Starts a backup of all committed data; the reply to `slot` is sent when the backup ends.
    ///
    /// - Parameter file: an absolute path, or a name in the folder for backups.
    package func backUp(to file: String, for slot: ReplySlot) -> Result<Void, OperationFailure> {
        guard backup == nil else { return .failure(.backupRunning) }
        backup = RunningBackup(slot: slot, since: ports.clock.milliseconds)
        ports.store.backUp(to: file)
        return .success(())
    }

    /// Handles the end of a backup, with or without success.
    ///
    /// - Parameter result: the path and the size of the backup.
    package func onBackedUp(_ result: Result<(file: String, bytes: UInt64), BackupFailure>) {
        guard let running = backup else { return }
        backup = nil
        let outcome: ReplyResult
        switch result {
        case .success((let file, let bytes)):
            let milliseconds = ports.clock.milliseconds - running.since
            ports.host.log(.info, "backed up file=\(file) bytes=\(bytes)")
            outcome = .backedUp(
                BackupReport(file: file, bytes: bytes, milliseconds: milliseconds))
        case .failure(let failure):
            ports.host.log(.error, "backup failed: \(failure)")
            outcome = .refused(.backup(failure))
        }
        sinks[running.slot.session]?.onSettled(running.slot.number, outcome)
    }

    /// Answers the request that waits for a backup with a refusal, once the process shuts down.
    func giveUpBackup() {
        guard isEnding, let running = backup else { return }
        backup = nil
        sinks[running.slot.session]?.onSettled(running.slot.number, .refused(.stopping))
    }
}
