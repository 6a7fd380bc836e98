import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

extension CountedRun {
    /// The trailing zero bits of a hash per level of counted runs; so few that conversations of a
    /// dozen messages have runs of all levels.
    static let fanOutBitsOfSimulation = 1
}

extension VectorBase {
    /// The limit of ranges in a vector beyond its base; so low that the base of a vector of a few
    /// replicas is rewritten often.
    static let restRangesMaxOfSimulation = 2
}

extension ShardDisk {
    /// Describes the first counted run that differs from a recount of its messages or overlaps the
    /// run before it; nil if the index is right.
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
