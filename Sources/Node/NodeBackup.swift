import Replication

/// What came of a backup.
package struct BackupReport: Hashable, Sendable {
    /// Where it is.
    package let file: String
    package let bytes: UInt64
    package let milliseconds: UInt64
}

/// A backup under way.
struct RunningBackup: Sendable {
    let slot: ReplySlot
    let since: UInt64
}

extension Node {
    /// Has a reply wait until all that is committed has been copied into a file.
    package func backUp(to file: String, for slot: ReplySlot) -> Result<Void, OperationFailure> {
        guard backup == nil else { return .failure(.backupRunning) }
        backup = RunningBackup(slot: slot, since: ports.clock.milliseconds)
        ports.store.backUp(to: file)
        return .success(())
    }

    /// A backup is on disk, or is not going to be.
    ///
    /// - Parameter result: where it is, and how many bytes it has.
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
            ports.host.log(.error, "not backed up: \(failure)")
            outcome = .refused(.backup(failure))
        }
        sinks[running.slot.session]?.onSettled(running.slot.number, outcome)
    }

    /// The process ends: nobody waits for a backup any longer.
    func giveUpBackup() {
        guard isEnding, let running = backup else { return }
        backup = nil
        sinks[running.slot.session]?.onSettled(running.slot.number, .refused(.stopping))
    }
}
