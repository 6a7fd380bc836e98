import LineProtocol
import Wire

/// The uploads under way, with the sizes that their `Content-Length` states; the sum of the sizes
/// is limited for each user, however much has arrived.
package struct ArrivingUploads: Sendable {
    private var promises: [UInt64: (user: UserID, bytes: UInt64)] = [:]
    private var bytes: [UserID: UInt64] = [:]

    package init() {}

    /// Records that an upload of a user begins, and adds its size to the sum of the user's
    /// unfinished uploads.
    ///
    /// - Parameters:
    ///   - connection: the client's connection, which carries at most one upload at a time.
    ///   - promised: the size of the upload by `Content-Length`, in bytes; nil if the request lacks
    ///     this header field, so that the maximum size of a file is added instead.
    /// - Returns: false, without recording the upload, if the sum would be more than
    ///   `LineLimits.unsentFileBytesMax` bytes.
    package mutating func begin(
        on connection: UInt64, by user: UserID, promised: UInt64?
    ) -> Bool {
        end(connection)
        let size = promised ?? LineLimits.fileBytesMax
        let sum = bytes[user, default: 0] + size
        guard sum <= LineLimits.unsentFileBytesMax else { return false }
        bytes[user] = sum
        promises[connection] = (user, size)
        return true
    }

    /// Removes the upload of a connection from the record, if the connection has one.
    package mutating func end(_ connection: UInt64) {
        guard let (user, size) = promises.removeValue(forKey: connection) else { return }
        let rest = bytes[user, default: size] - size
        bytes[user] = rest == 0 ? nil : rest
    }
}
