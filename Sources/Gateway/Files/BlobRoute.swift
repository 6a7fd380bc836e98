import HTTP
import LineProtocol
import Wire

/// The target of an HTTP request that uploads or downloads a file.
struct BlobRoute: Sendable {
    let conversation: ConversationID
    /// The ID of the file in the URL path; nil for an upload whose path contains no such ID.
    let file: FileID?
    let isUpload: Bool

    /// - Parameter path: the segments of the request's URL path, of which the first is `v1`.
    /// - Returns: nil for a request that is neither an upload nor a download.
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

    /// Returns the HTTP methods that are allowed on a URL path for uploads or downloads of files;
    /// none for any other path.
    static func methods(of path: [String]) -> [Method] {
        [Method.get, .post, .put].filter { BlobRoute($0, path) != nil }
    }
}
