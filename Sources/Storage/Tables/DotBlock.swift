import CRDT
import Chat
import Wire

/// The place of a document that a replica changed last by a certain seq.
package struct DotPlace: Hashable, Sendable {
    package let key: DocumentKey
    /// The document's time in the history; zero for documents that are not messages.
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
/// times as long. Sixteen in a row still leave space for other blocks on the page.
package struct DotBlock: Equatable, Sendable {
    package static let seqsCount: UInt64 = 16
    /// The version of the format, in the first byte.
    private static let version: UInt8 = 1

    package let number: Int64
    /// The places, ascending by seq; seqs that changed no document last are left out.
    package private(set) var places: [(seq: UInt64, place: DotPlace)] = []

    package static func number(of seq: UInt64) -> Int64 { Int64(seq / seqsCount) }

    package init(_ number: Int64) { self.number = number }

    package var isEmpty: Bool { places.isEmpty }

    /// The greatest seq that the block can contain.
    var last: UInt64 { first + (DotBlock.seqsCount - 1) }

    private var first: UInt64 { UInt64(number) * DotBlock.seqsCount }

    /// - Parameter place: nil where the seq is no document's last change any more.
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

    /// Decodes a row; nil for bytes that are no block.
    ///
    /// A damaged row must not count as empty, since the documents that it names would then be sent
    /// to no peer.
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
