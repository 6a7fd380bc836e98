/// The open data files, and the paths under which a restart would look for them.
///
/// A process can still write to an open file that was removed, moved or replaced, but all
/// acknowledged data in such a file is lost when the process ends.
// SAFETY: `identities` is accessed only under the monitor.
final class DataPlaces: @unchecked Sendable {
    private let monitor = Monitor()
    private var identities: [(path: String, identity: FileIdentity)] = []

    /// Records the identity of the file that has to be found under `path` from now on.
    func add(_ path: String, _ identity: FileIdentity?) {
        guard let identity else { return }
        monitor.withLock { identities.append((path, identity)) }
    }

    /// The first path that does not lead to the open data file any more; nil if all paths do.
    var displaced: String? {
        monitor.withLock {
            identities.first { FileStatus(of: $0.path)?.identity != $0.identity }?.path
        }
    }
}
