/// The files that are written, and the names under which a restart would look for them.
///
/// A file that was removed, moved or replaced is written on as long as it is open, and with it all
/// that is acknowledged is gone at the end of the process.
// SAFETY: `identities` is touched under the monitor alone.
final class DataPlaces: @unchecked Sendable {
    private let monitor = Monitor()
    private var identities: [(path: String, identity: FileIdentity)] = []

    /// From here on the file is this one.
    func add(_ path: String, _ identity: FileIdentity?) {
        guard let identity else { return }
        monitor.withLock { identities.append((path, identity)) }
    }

    /// The first name that does not lead to what is written any more; nil where all do.
    var displaced: String? {
        monitor.withLock {
            identities.first { FileStatus(of: $0.path)?.identity != $0.identity }?.path
        }
    }
}
