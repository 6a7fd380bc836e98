import HTTP
import LineProtocol
import Wire

/// A request for a file: its upload or its download.
struct BlobRoute: Sendable {
    let conversation: ConversationID
    /// Nil for an upload whose client has named none.
    let file: FileID?
    let isUpload: Bool

    /// - Parameter path: its parts, `v1` first.
    /// - Returns: nil for another request.
    init?(_ method: Method, _ path: [String]) {
        guard path.count >= 4, path[0] == "v1", path[1] == "conversations", path[3] == "blobs",
            let conversation = ConversationID(path[2])
        else { return nil }
        self.conversation = conversation
        switch (method, path.count) {
        case (.put, 4), (.post, 4): (file, isUpload) = (nil, true)
        case (.put, 5):
            guard let file = FileID(path[4]) else { return nil }
            (self.file, isUpload) = (file, true)
        case (.get, 5), (.head, 5):
            guard let file = FileID(path[4]) else { return nil }
            (self.file, isUpload) = (file, false)
        default: return nil
        }
    }

    /// Returns the methods that a path has; none for a path of no file.
    static func methods(of path: [String]) -> [Method] {
        [Method.get, .post, .put].filter { BlobRoute($0, path) != nil }
    }
}
