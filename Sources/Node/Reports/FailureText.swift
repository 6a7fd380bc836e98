import Chat
import StorePort
import Wire

/// The texts of failures for log lines.
extension StoreFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .full: "the disk is full"
        case .badRecord(let key):
            "the record partition=\(key.partition) id=\(key.id) is damaged"
        case .badIndex: "the index is damaged"
        case .locked: "another program has locked the database"
        case .failed(let reason): reason
        }
    }
}

extension BackupFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .exists: "the file exists already"
        case .noFolder: "there is no such folder"
        case .forbidden: "the folder cannot be written"
        case .full: "the disk is full"
        case .failed(let reason): reason
        }
    }
}

extension ShardFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused: "a rule forbids it"
        case .notReady: "the shard replica is catching up"
        case .unreachable: "no replica can be reached"
        case .unanswered: "the node that was asked did not answer"
        case .stale: "what is there was written no earlier"
        case .behind: "no replica holds what was seen"
        case .overloaded: "too many requests wait for other nodes"
        case .unsupported: "the node that was asked is of an earlier version"
        case .clock(let offset): ClusterTime.sentence(offset)
        case .untimely: "the client has given it a time that is too early or too late"
        case .store(let failure): failure.description
        case .badFrame(let error): "unreadable document: \(error)"
        }
    }
}
