import Chat
import Node
import StorePort
import Wire

/// The position of a scrub: the last key that was checked.
private struct KeyMark: CheckMark {
    let key: DocumentKey
}

extension SimDisk {
    func check(_ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int) -> CheckedPart {
        let disk = state.shards[Int(shard.number)]
        var part = CheckedPart()
        let after = (mark as? KeyMark)?.key
        let keys = disk.keys.filter { key in after.map { $0 < key } ?? true }
        for key in keys.prefix(rowsMax) {
            guard let stored = disk.documents[key] else { continue }
            do throws(WireError) {
                guard !stored.isBad else { throw .invalid("a flipped byte") }
                let document = try Document(key, decoding: stored.bytes)
                part.add(document, bytes: stored.bytes, isIndexed: !disk.misindexed.contains(key))
            } catch {
                part.add(bad: key)
            }
        }
        if keys.count > rowsMax { part.next = KeyMark(key: keys[rowsMax - 1]) }
        return part
    }
}
