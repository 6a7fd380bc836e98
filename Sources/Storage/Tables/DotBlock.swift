import CRDT
import Chat
import Wire

/// The place of the document whose last change by a replica id has a given seq.
package struct DotPlace: Hashable, Sendable {
    package let key: DocumentKey
    /// The sending time of a message; zero for other documents.
    package let time: HybridTimestamp

    package init(key: DocumentKey, time: HybridTimestamp) {
        self.key = key
        self.time = time
    }
}

/// A row of the table `dots`: the documents that a replica changed last by sixteen consecutive
/// seqs.
///
/// A row for each seq would cost as much to write as the row of the document itself, which is four
/// times as long. A row of sixteen seqs still leaves space for other blocks on its page.
package struct DotBlock: Equatable, Sendable {
    package static let seqsCount: UInt64 = 16
    /// The version of the format of a block, which is its first byte.
    private static let version: UInt8 = 1

    package let number: Int64
    /// The places, ascending by seq; seqs that are no document's last change are omitted.
    package private(set) var places: [(seq: UInt64, place: DotPlace)] = []

    package static func number(of seq: UInt64) -> Int64 { Int64(seq / seqsCount) }

    package init(_ number: Int64) { self.number = number }

    package var isEmpty: Bool { places.isEmpty }

    /// The greatest seq that the block can contain.
    var last: UInt64 { first + (DotBlock.seqsCount - 1) }

    private var first: UInt64 { UInt64(number) * DotBlock.seqsCount }

    /// - Parameter place: the place; nil if the seq is no document's last change any more.
    package mutating func set(_ place: DotPlace?, at seq: UInt64) {
        precondition(DotBlock.number(of: seq) == number, "a seq of this block")
        if let place, places.last.map({ $0.seq < seq }) ?? true {
            places.append((seq, place))
            return
        }
        let index = places.firstIndex { $0.seq >= seq } ?? places.count
        if index < places.count, places[index].seq == seq { places.remove(at: index) }
        if let place { places.insert((seq, place), at: index) }
    }

    package static func == (left: DotBlock, right: DotBlock) -> Bool {
        left.number == right.number && left.places.elementsEqual(right.places, by: ==)
    }
}

extension DotBlock {
    package func encode(into writer: inout ByteWriter) {
        writer.write(DotBlock.version)
        writer.write(count: places.count)
        for index in places.indices {
            writer.write(UInt8(places[index].seq - first))
            places[index].place.key.encode(into: &writer)
            places[index].place.time.encode(into: &writer)
        }
    }

    /// Decodes a row; returns nil if the bytes are not a block.
    ///
    /// A damaged row must not count as empty, since its documents would then be sent to no peer.
    package init?(_ number: Int64, decoding bytes: [UInt8]) {
        self.number = number
        do throws(WireError) {
            var reader = ByteReader(bytes)
            guard try reader.readByte() == DotBlock.version, number >= 0 else { return nil }
            for _ in 0..<(try reader.readCount(limit: Int(DotBlock.seqsCount))) {
                let seq = first + UInt64(try reader.readByte())
                let place = DotPlace(
                    key: try DocumentKey(from: &reader), time: try HybridTimestamp(from: &reader))
                guard seq <= last, seq > places.last?.seq ?? 0 || places.isEmpty else {
                    throw .invalid("seqs that ascend")
                }
                places.append((seq, place))
            }
        } catch {
            return nil
        }
    }
}
