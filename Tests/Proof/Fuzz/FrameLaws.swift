import CRDT
import Membership
import Node
import Replication
import Wire

/// The laws of frames, which hold whatever another process sends.
enum FrameLaws {
    static func check(_ input: [UInt8]) {
        checkStream(input)
        var reader = ByteReader(input)
        guard let frame = decoded({ try PeerFrame(from: &reader) }) else { return }
        let bytes = frame.encoded
        precondition(decoded { try PeerFrame.decode(bytes) } == frame, "what is sent arrives")
        precondition(bytes.count <= max(input.count, 1) + 16, "nothing is made up")
        check(frame)
    }

    /// Checks that the stream is cut without a trap, and that it buffers no more than has arrived.
    private static func checkStream(_ input: [UInt8]) {
        var cutter = EnvelopeCutter(payloadBytesMax: Envelope.plainBytesMax)
        for start in stride(from: 0, to: input.count, by: 5) {
            input[start..<min(start + 5, input.count)].withUnsafeBytes { cutter.append($0) }
            precondition(cutter.keptCount <= input.count, "no more is kept than has come")
            do throws(WireError) {
                while try cutter.next() != nil {}
            } catch {
                return
            }
        }
    }

    private static func check(_ frame: PeerFrame) {
        switch frame {
        case .hello(let hello): check(hello.members)
        case .gossip(.table(let table), _): check(table)
        case .replication(.confirm(_, let vector)): check(vector)
        case .replication(.pull(_, _, let said)): check(said.vector)
        case .replication(.done(_, _, _, let claim)): check(claim.vector)
        default: break
        }
    }

    private static func check(_ table: MemberTable) {
        var merged = MemberTable()
        for entry in table.entries.reversed() { _ = merged.merge(entry) }
        precondition(merged == table, "a table is the merge of its entries")
        for entry in table.entries { precondition(!merged.merge(entry), "a merge is idempotent") }
    }

    private static func check(_ vector: Vector) {
        var merged = vector
        merged.formUnion(vector)
        precondition(merged == vector, "a merge is idempotent")
        precondition(vector.covers(vector), "a vector covers itself")
        precondition(vector.enclosing.covers(vector), "what encloses it covers it")
    }
}

/// Returns the decoded value; nil if the bytes are refused.
func decoded<Value>(_ body: () throws -> Value) -> Value? {
    do {
        return try body()
    } catch {
        return nil
    }
}
