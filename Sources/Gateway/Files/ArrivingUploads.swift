import LineProtocol
import Wire

/// The uploads that are under way, with the bytes that their heads promise: each user has so many
/// at once, whatever has arrived of them.
package struct ArrivingUploads: Sendable {
    private var promises: [UInt64: (user: UserID, bytes: UInt64)] = [:]
    private var bytes: [UserID: UInt64] = [:]

    package init() {}

    /// Notes an upload that begins.
    ///
    /// - Parameters:
    ///   - connection: whose upload it is; it has no other.
    ///   - promised: what its head promises, in bytes; nil where it does not say, which may be
    ///     as much as a file may have.
    /// - Returns: false where the user would have more than `LineLimits.unsentFileBytesMax` under
    ///   way; then it does not begin.
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

    /// Forgets the upload of a connection, if it has one.
    package mutating func end(_ connection: UInt64) {
        guard let (user, size) = promises.removeValue(forKey: connection) else { return }
        let rest = bytes[user, default: size] - size
        bytes[user] = rest == 0 ? nil : rest
    }
}
