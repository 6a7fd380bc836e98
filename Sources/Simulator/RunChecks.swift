import CRDT
import Chat
import Node
import Replication
import Wire

extension CountedRun {
    /// Small enough for conversations of a dozen messages to have runs of all levels.
    static let fanOutBitsOfSimulation = 1
}

extension VectorBase {
    /// Small enough for the base of a vector of a few replicas to be written again and again.
    static let restRangesMaxOfSimulation = 2
}

extension ShardDisk {
    /// The first counted run that does not equal the count of its messages, or lies across another;
    /// nil where the index is right.
    var wrongRun: String? {
        var messages: [String: [Document]] = [:]
        for key in keys where key.kind == .message {
            guard let stored = documents[key] else { continue }
            do throws(WireError) {
                let document = try Document(key, decoding: stored.bytes)
                messages[key.partition, default: []].append(document)
            } catch {
                return "\(key) does not decode: \(error)"
            }
        }
        var previous: (key: CountedRunKey, end: HybridTimestamp)?
        for (key, run) in runs.sorted(by: { $0.key < $1.key }) {
            defer { previous = (key, run.end) }
            var counts = MessageCounts()
            for document in messages[key.conversation.text] ?? []
            where document.historyTime >= run.start && document.historyTime < run.end {
                counts.add(document)
            }
            let name = "\(key.conversation) level \(key.level) from \(run.start.bits)"
            guard counts.countsSame(as: run.counts) else {
                return "the run \(name) counts \(run.counts), not \(counts)"
            }
            guard let previous, previous.key.conversation == key.conversation,
                previous.key.level == key.level
            else { continue }
            guard previous.end <= run.start else { return "the run \(name) lies across another" }
        }
        return nil
    }
}
