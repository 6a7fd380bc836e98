/// The open data files, and the paths under which a restart would look for them.
///
/// A file that has been removed, moved or replaced is still written as long as it is open, but all
/// acknowledged data in it is lost when the process ends.
// SAFETY: `identities` is touched under the monitor alone.
final class DataPlaces: @unchecked Sendable {
    private let monitor = Monitor()
    private var identities: [(path: String, identity: FileIdentity)] = []

    /// Records the file that has to be found under this path from now on.
    func add(_ path: String, _ identity: FileIdentity?) {
        guard let identity else { return }
        monitor.withLock { identities.append((path, identity)) }
    }

    /// The first path that does not lead to the file that is written any more; nil where all do.
    var displaced: String? {
        monitor.withLock {
            identities.first { FileStatus(of: $0.path)?.identity != $0.identity }?.path
        }
    }
}
