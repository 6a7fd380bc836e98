import CSystem

/// The identity and the length of a file.
struct FileStatus: Sendable {
    let identity: FileIdentity
    let bytesCount: UInt64

    /// - Returns: nil if no file has this path.
    init?(of path: String) { self.init { csystem_file_status(-1, path, &$0) } }

    init?(of descriptor: Int32) { self.init { csystem_file_status(descriptor, nil, &$0) } }

    private init?(_ ask: (inout csystem_file) -> Int32) {
        var file = csystem_file()
        guard ask(&file) == 0 else { return nil }
        identity = FileIdentity(device: file.device, number: file.number)
        bytesCount = file.bytes
    }
}

/// The identity of a file, independent of its names.
struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let number: UInt64
}
