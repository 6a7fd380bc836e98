import Chat

/// The reasons for which a store does not do what was requested.
package enum StoreFailure: Error, Hashable, Sendable {
    /// The disk is full: nothing was written.
    case full
    /// The bytes of a document are not what was written.
    case badRecord(DocumentKey)
    /// A row of an index of the shard's documents is not what was written.
    case badIndex
    /// Another program has locked the database: nothing was written.
    case locked
    /// Any other failure: what was being done, and what the system said.
    case failed(String)
}

/// The reasons why a backup fails.
package enum BackupFailure: Error, Hashable, Sendable {
    case exists
    case noFolder
    /// The folder cannot be written to.
    case forbidden
    case full
    case failed(String)
}
