import Wire

/// The checksum before a stored value's bytes, since SQLite does not detect a flipped byte in it.
///
/// The seed is computed from the row's key, so bytes under a wrong key are detected, too.
final class Seal {
    static let checksumBytes = 8

    /// The buffer for a sealed value, which grows to the size that the largest value requires.
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 8)

    deinit { buffer.deallocate() }

    /// Returns the checksum followed by the bytes; valid until the next call.
    func seal(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UnsafeRawBufferPointer {
        let count = Seal.checksumBytes + bytes.count
        if buffer.count < count {
            buffer.deallocate()
            buffer = .allocate(byteCount: 2 * count, alignment: 8)
        }
        buffer.storeBytes(of: checksum(bytes, seed: seed).littleEndian, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: buffer[Seal.checksumBytes...])
            .copyMemory(from: bytes)
        return UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }

    /// Returns the checksum of an array followed by its bytes; valid until the next call.
    func seal(_ bytes: [UInt8], seed: UInt64) -> UnsafeRawBufferPointer {
        bytes.withUnsafeBytes { seal($0, seed: seed) }
    }

    /// Returns the bytes after the checksum; nil if they do not match the checksum.
    static func open(_ sealed: UnsafeRawBufferPointer, seed: UInt64) -> [UInt8]? {
        guard sealed.count >= checksumBytes else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: sealed[checksumBytes...])
        let sum = UInt64(littleEndian: sealed.loadUnaligned(as: UInt64.self))
        guard checksum(bytes, seed: seed) == sum else { return nil }
        return Array(bytes)
    }
}

extension Seal {
    static func seed(of shard: ShardID) -> UInt64 { UInt64(shard.number) }

    static func seed(ofBaseOf shard: ShardID) -> UInt64 { ~UInt64(shard.number) }

    static func seed(ofSetting name: String) -> UInt64 { checksum(name.utf8) }

    /// Returns the checksum of a row of `place`.
    static func sum(
        ofPlace id: UnsafeRawBufferPointer, time: Int64, shard: ShardID,
        partition: UnsafeRawBufferPointer
    ) -> Int64 {
        Int64(bitPattern: seed(shard: shard, partition: partition, kind: -1, time: time, id: id))
    }

    /// Returns the checksum of a row of `term`.
    static func sum(
        ofTerm word: UnsafeRawBufferPointer, shard: ShardID, kind: Int64,
        partition: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
    ) -> Int64 {
        let key = seed(shard: shard, partition: partition, kind: kind, time: 0, id: id)
        return Int64(bitPattern: checksum(word, seed: key))
    }

    /// Returns the checksum of a row of `replica`.
    static func sum(ofReplica id: UnsafeRawBufferPointer, number: Int64) -> Int64 {
        Int64(bitPattern: checksum(id, seed: UInt64(bitPattern: number)))
    }

    static func sum(ofReplica id: ReplicaID, number: Int64) -> Int64 {
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) {
            sum(ofReplica: $0, number: number)
        }
    }

    /// Returns the seed of a document's row, over every column of its key.
    static func seed(
        shard: ShardID, partition: UnsafeRawBufferPointer, kind: Int64, time: Int64,
        id: UnsafeRawBufferPointer
    ) -> UInt64 {
        let head = UInt64(shard.number) &+ UInt64(bitPattern: kind) << 16
        let middle = checksum(partition, seed: head) &+ UInt64(bitPattern: time)
        return checksum(id, seed: middle)
    }
}
