import CRDT
import Chat
import Replication
import Wire

/// A request that a member which holds the shard is asked to answer.
///
/// One hop: who is asked answers it or says that somebody else should.
package struct PeerRequest: Hashable, Sendable {
    package enum Request: Hashable, Sendable {
        case write(Operation, AckLevel, Attempt)
        case read(Query, UserID)
        /// A user's list, as far as these shards make it up.
        case list(Query, UserID, [ShardID])
        /// On how many owners these changes are.
        case copies(ShardID, Vector)
        /// Whether the copy of a shard holds what a connection has seen.
        case level(ShardID, ReadConstraint)
        /// One that only a later version knows: it is told so.
        case unknown
    }

    /// What may be known of a write before it is looked at.
    package enum Attempt: UInt8, CaseIterable, Hashable, Sendable {
        /// Its id was just made: nothing has it.
        case minted = 1
        case first = 2
        /// Another member may have executed it already, and not said so.
        case again = 3

        /// Whether the operation may get another time: no attempt at it can have been executed.
        package var mayBeRaised: Bool {
            #if PlantedBugs
                if PlantedBug.secondTimeGiven.isOn { return true }
            #endif
            return self != .again
        }
    }

    /// Which of the asking process's it is.
    package let number: UInt64
    /// Which of the asking process's attempts at its shard it belongs to: who denies one of them
    /// denies those that follow, since what was denied comes again before them.
    package let round: UInt64
    /// Until when it may be carried out, by the clock of who is asked, in milliseconds: later the
    /// one who asked has gone elsewhere with it, and its user may have gone on.
    package let deadline: UInt64
    package private(set) var request: Request
}

extension PeerRequest: VectorCarrier {
    package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        guard case .level(let shard, var constraint) = request else { return }
        constraint.eachVector { body(shard, &$0) }
        request = .level(shard, constraint)
    }
}

/// What became of an `PeerRequest`.
package struct PeerResponse: Hashable, Sendable {
    package enum Completion: Hashable, Sendable {
        /// It is carried out here, and waits for disks.
        case taken
        case written(Receipt, Stored)
        /// A part of what a query found, counted from 0.
        case found(Findings, part: Int, isLast: Bool)
        /// The last part of a list, and the shards that are not in it.
        case listed(Findings, part: Int, missing: [ShardID])
        case copies(Int)
        /// The copy holds what was asked for.
        case level
        case failed(ShardFailure)
        /// Not held here, or asked too late: nothing was done.
        case notOwner
    }

    package let number: UInt64
    /// That of the ask.
    package let round: UInt64
    package private(set) var outcome: Completion
    /// What the copies that it shows hold.
    package var seen: [ObservedShard] = []
    /// No earlier than anything that it shows.
    package var time = HybridTimestamp.zero
}

extension PeerResponse: VectorCarrier {
    package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        for index in seen.indices { seen[index].eachVector(body) }
    }

    /// Replaces the answer by a failure, so that another member is asked: a vector in it builds on
    /// one that this node has not received.
    mutating func refuse() {
        if case .written = outcome { return }
        outcome = .failed(.unsupported)
        seen = []
    }
}

extension PeerRequest: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: number)
        writer.write(varint: round)
        writer.write(varint: deadline)
        switch request {
        case .write(let operation, let level, let attempt):
            writer.write(1)
            operation.encode(into: &writer)
            writer.write(level.number)
            writer.write(attempt.rawValue)
        case .read(let query, let user):
            writer.write(2)
            query.encode(into: &writer)
            writer.write(user)
        case .list(let query, let user, let shards):
            writer.write(3)
            query.encode(into: &writer)
            writer.write(user)
            writer.write(shards)
        case .copies(let shard, let vector):
            writer.write(4)
            writer.write(shard)
            vector.encodeShared(into: &writer)
        case .level(let shard, let constraint):
            writer.write(6)
            writer.write(shard)
            constraint.encode(into: &writer)
        case .unknown: writer.write(0)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        number = try reader.readVarint()
        round = try reader.readVarint()
        deadline = try reader.readVarint()
        do throws(WireError) {
            request = try Request(from: &reader)
        } catch .unknown {
            request = .unknown
        } catch {
            throw error
        }
    }
}

extension PeerRequest.Request {
    init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1:
            let operation = try Operation(from: &reader)
            guard let level = AckLevel(number: try reader.readByte()),
                let attempt = PeerRequest.Attempt(rawValue: try reader.readByte())
            else { throw .invalid("a level and an attempt") }
            guard attempt != .minted || operation.mutation.mayBeMinted else {
                throw .invalid("an id that was just made")
            }
            self = .write(operation, level, attempt)
        case 2:
            self = .read(try Query(from: &reader), try reader.readName())
        case 3:
            self = .list(
                try Query(from: &reader), try reader.readName(), try reader.readShards())
        case 4:
            self = .copies(try reader.readShard(), try Vector(sharedFrom: &reader))
        case 6:
            self = .level(try reader.readShard(), try ReadConstraint(from: &reader))
        default: throw .unknown
        }
    }
}

extension PeerResponse: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: number)
        writer.write(varint: round)
        switch outcome {
        case .taken: writer.write(1)
        case .written(let receipt, let stored):
            writer.write(2)
            receipt.encode(into: &writer)
            stored.encode(into: &writer)
        case .found(let findings, let part, let isLast):
            writer.write(3)
            findings.encode(into: &writer)
            writer.write(count: part)
            writer.write(isLast)
        case .listed(let findings, let part, let missing):
            writer.write(4)
            findings.encode(into: &writer)
            writer.write(count: part)
            writer.write(missing)
        case .copies(let count):
            writer.write(5)
            writer.write(count: count)
        case .failed(let failure):
            writer.write(6)
            failure.encode(into: &writer)
        case .notOwner: writer.write(7)
        case .level: writer.write(8)
        }
        writer.write(count: seen.count)
        for shard in seen { shard.encode(into: &writer) }
        time.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        number = try reader.readVarint()
        round = try reader.readVarint()
        do throws(WireError) {
            outcome = try Completion(from: &reader)
        } catch .unknown {
            // As if it had not understood the request: another is asked.
            outcome = .failed(.unsupported)
            return
        } catch {
            throw error
        }
        for _ in 0..<(try reader.readCount(limit: Int(ClusterSettings.shardsMax))) {
            seen.append(try ObservedShard(from: &reader))
        }
        time = try HybridTimestamp(from: &reader)
    }
}

extension PeerResponse.Completion {
    init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .taken
        case 2: self = .written(try Receipt(from: &reader), try Stored(from: &reader))
        case 3:
            self = .found(
                try Findings(from: &reader), part: try reader.readNumber(),
                isLast: try reader.readFlag())
        case 4:
            self = .listed(
                try Findings(from: &reader), part: try reader.readNumber(),
                missing: try reader.readShards())
        case 5: self = .copies(try reader.readNumber())
        case 6: self = .failed(try ShardFailure(from: &reader))
        case 7: self = .notOwner
        case 8: self = .level
        default: throw .unknown
        }
    }
}

extension Mutation {
    /// Whether it names a document that nobody else can name yet.
    var mayBeMinted: Bool {
        switch action {
        case .send, .addItem: true
        default: false
        }
    }
}

extension AckLevel {
    var number: UInt8 {
        switch self {
        case .local: 1
        case .majority: 2
        case .all: 3
        }
    }

    init?(number: UInt8) {
        switch number {
        case 1: self = .local
        case 2: self = .majority
        case 3: self = .all
        default: return nil
        }
    }
}

extension ByteWriter {
    mutating func write(_ shards: [ShardID]) {
        write(count: shards.count)
        for shard in shards { write(shard) }
    }
}

extension ByteReader {
    mutating func readShards() throws(WireError) -> [ShardID] {
        var shards: [ShardID] = []
        for _ in 0..<(try readCount(limit: Int(ClusterSettings.shardsMax))) {
            shards.append(try readShard())
        }
        return shards
    }
}
