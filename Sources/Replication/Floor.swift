import CRDT
import Wire

/// The state that a replica has to contain before it may show any data to a connection.
public enum MinimumVersion: Hashable, Sendable {
    /// The vector of the changes that the connection was shown or has written.
    case vector(SaidVector)
    /// The token that a client brought from another connection.
    case token(Token)

    /// Whether a replica of the shard with this vector certainly contains all of the minimum.
    ///
    /// - Parameters:
    ///   - checkpoints: the checkpoints that a token may name.
    ///   - held: the names of the checkpoints that this replica contains.
    public func isCovered(
        by vector: Vector, of shard: ShardID, _ checkpoints: Checkpoints = Checkpoints(),
        held: HeldNames = HeldNames()
    ) -> Bool {
        #if PlantedBugs
            if PlantedBug.minimumIgnored.isOn { return true }
        #endif
        switch self {
        case .vector(let minimum): return vector.covers(minimum.vector)
        case .token(let token):
            return token.verdict(on: vector, of: shard, checkpoints, held: held) == .covered
        }
    }
}

extension MinimumVersion: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .vector(let vector):
            writer.write(1)
            vector.encode(into: &writer)
        case .token(let token):
            writer.write(2)
            token.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .vector(try SaidVector(from: &reader))
        case 2: self = .token(try Token(from: &reader))
        default: throw .unknown
        }
    }
}
