import CRDT
import Chat
import Wire

/// The check, once all disks hold the same, that files know of each deletion of a message.
extension World {
    /// Throws if a file counts a message among those that name it which is deleted for everyone.
    func checkFilesSettled() throws(Violation) {
        for shard in 0..<plan.shards {
            let disk = owners(of: shard)[0].disk.state.shards[shard]
            for key in disk.keys where key.kind == .file {
                guard let file = try document(key, on: disk)?.file,
                    let conversation = ConversationID(key.partition)
                else { continue }
                for message in file.namingMessages {
                    let named = try document(.message(message, in: conversation), on: disk)
                    guard named?.message?.isRetracted == true else { continue }
                    throw Violation(
                        invariant: .deleted,
                        explanation: "the file \(key.id) is kept for \(message), which is deleted")
                }
            }
        }
    }

    private func document(
        _ key: DocumentKey, on disk: ShardDisk
    ) throws(Violation) -> Document? {
        guard let stored = disk.documents[key] else { return nil }
        do throws(WireError) {
            return try Document(key, decoding: stored.bytes)
        } catch {
            throw Violation(
                invariant: .badRecord, explanation: "\(key) does not decode: \(error)")
        }
    }
}
