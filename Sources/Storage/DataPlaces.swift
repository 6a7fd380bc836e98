import Glibc

/// A file, whatever its name.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// Nil where there is none under the path.
    init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
}

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
            identities.first { FileIdentity(of: $0.path) != $0.identity }?.path
        }
    }
}
