import LineProtocol
import Wire

/// The uploads under way, with the sizes that their `Content-Length` promises; the sum of each
/// user's is limited, however much has arrived.
package struct ArrivingUploads: Sendable {
    private var promises: [UInt64: (user: UserID, bytes: UInt64)] = [:]
    private var bytes: [UserID: UInt64] = [:]

    package init() {}

    /// Records an upload that begins.
    ///
    /// - Parameters:
    ///   - connection: the connection of the upload, which has one at a time.
    ///   - promised: the `Content-Length`, in bytes; nil if there is none: then the maximum size of
    ///     a file counts.
    /// - Returns: false if the user would have more than `LineLimits.unsentFileBytesMax` bytes
    ///   under way; then the upload does not begin.
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

    /// Removes the upload of a connection, if it has one.
    package mutating func end(_ connection: UInt64) {
        guard let (user, size) = promises.removeValue(forKey: connection) else { return }
        let rest = bytes[user, default: size] - size
        bytes[user] = rest == 0 ? nil : rest
    }
}
