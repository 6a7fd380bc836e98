import Replication
import StorePort
import Wire

/// The rows of a shard's header, as the tables store them.
struct HeaderRows {
    /// The digest, the counters, the greatest times, and the part of the vector that is not in the
    /// base.
    let header: [UInt8]
    /// The seldom changing part of the vector, stored in a separate row; nil if it is unchanged.
    let base: [UInt8]?

    var bytesCount: Int { header.count + (base?.count ?? 0) }

    /// Returns the rows that are on disk after an earlier header and this one have been stored.
    func following(_ first: HeaderRows) -> HeaderRows {
        HeaderRows(header: header, base: base ?? first.base)
    }
}

/// The last header of each shard in one transaction, so that each header is encoded only once.
struct LastHeaders {
    private var headers: [ShardID: (header: ReplicaHeader, base: [UInt8]?)] = [:]

    mutating func note(_ write: ShardWrite) {
        let base = write.base ?? headers[write.shard]?.base
        headers[write.shard] = (write.header, base)
    }

    mutating func drop(_ shard: ShardID) { headers[shard] = nil }

    var rows: [ShardID: HeaderRows] {
        headers.mapValues { HeaderRows(header: $0.header.encoded, base: $0.base) }
    }
}
