import CRDT
import Chat
import Replication
import Wire

/// A request to a member that has a replica of a shard.
///
/// The request is never passed on: the receiver answers it or responds `notOwner`.
package struct PeerRequest: Hashable, Sendable {
    package enum Request: Hashable, Sendable {
        case write(Operation, AckLevel, Attempt)
        case read(AnyQuery, UserID)
        /// A request for the part of a user's list that is in these shards.
        ///
        /// - bytesMax: the approximate size in bytes up to which it is sent at once; nil for any
        ///   size.
        case list(AnyQuery, UserID, [ShardID], bytesMax: Int? = nil)
        /// A request for the number of owners that have stored these changes.
        ///
        /// - forToken: whether the answer waits until a majority of the owners has them.
        case copies(ShardID, Vector, forToken: Bool = false)
        /// A request to catch up until the receiver's replica contains what a connection has seen.
        case level(ShardID, ReadConstraint)
        /// A request of a later version, which is answered with `unsupported`.
        case unknown
    }

    /// The information whether a write may have been executed before.
    package enum Attempt: UInt8, CaseIterable, Hashable, Sendable {
        /// The id in the write was just generated, so that no document has it.
        case minted = 1
        case first = 2
        /// Another member may have executed the write without having answered.
        case again = 3
        /// The client has given the operation its identity and time, and may have sent it before to
        /// any node, which may execute it later.
        case client = 4

        /// Whether the operation may get another time, because no attempt can have been executed.
        package var mayBeRaised: Bool {
            #if PlantedBugs
                if PlantedBug.secondTimeGiven.isOn { return true }
                if PlantedBug.lateOperationRaised.isOn, self == .client { return true }
            #endif
            return self == .minted || self == .first
        }
    }

    /// The number of the request, unique within the requesting process.
    package let number: UInt64
    /// The round of requests to the shard, as numbered by the requesting process.
    ///
    /// A member that refuses a request also refuses the later requests of its round, since the
    /// refused request is sent again before these requests.
    package let round: UInt64
    /// The latest time to execute the request, in milliseconds of the receiver's clock.
    ///
    /// After the deadline the sender may have asked another member, and the client may have
    /// continued.
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

/// The answer to a `PeerRequest`.
package struct PeerResponse: Hashable, Sendable {
    package enum Completion: Hashable, Sendable {
        /// The member has executed the request and waits for disks.
        case taken
        case written(Receipt, Stored)
        /// A part of the findings of a query; parts are counted from 0.
        case found(AnyFindings, part: Int, isLast: Bool)
        /// The last part of a list, and the shards that are missing from the list.
        case listed(AnyFindings, part: Int, missing: [ShardID])
        case copies(Int)
        /// The approximate size of a list that is larger than `bytesMax` and was discarded.
        case large(bytes: Int)
        /// The replica contains the requested minimum version.
        case level
        case failed(ShardFailure)
        /// The member cannot answer for the shard, or the request came too late; in both cases the
        /// request had no effect.
        case notOwner
    }

    package let number: UInt64
    /// The round of the request that is answered.
    package let round: UInt64
    package private(set) var outcome: Completion
    /// The states of the replicas whose content the answer shows.
    package var seen: [ObservedShard] = []
    /// A time that is not earlier than any change that the answer shows.
    package var time = HybridTimestamp.zero
}

extension PeerResponse: VectorCarrier {
    package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        for index in seen.indices { seen[index].eachVector(body) }
    }

    /// Turns an answer whose vector refers to a base that this node lacks into a failure, so that
    /// another member is asked.
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
            // Earlier versions would execute what is to be refused, and do not know this number.
            writer.write(operation.refusal == nil ? 1 : 7)
            operation.encode(into: &writer)
            level.encode(into: &writer)
            // For earlier versions, an operation of a client's is a repetition. They ignore all
            // bytes after the values that they decode.
            let isOfClient = attempt == .client
            writer.write((isOfClient ? .again : attempt).rawValue)
            guard isOfClient || !operation.senders.isEmpty else { return }
            operation.senders.encode(into: &writer)
            guard isOfClient else { return }
            writer.write(true)
            operation.refusal?.encode(into: &writer)
        case .read(let query, let user):
            writer.write(2)
            query.encode(into: &writer)
            writer.write(user)
            // Earlier versions ignore all bytes after the values that they decode.
            if let bytesMax = query.bytesMax { writer.write(count: bytesMax) }
        case .list(let query, let user, let shards, let bytesMax):
            writer.write(3)
            query.encode(into: &writer)
            writer.write(user)
            shards.encode(into: &writer)
            // Earlier versions ignore all bytes after the values that they decode.
            if let bytesMax { writer.write(count: bytesMax) }
        case .copies(let shard, let vector, let forToken):
            writer.write(4)
            writer.write(shard)
            vector.encodeShared(into: &writer)
            if forToken { writer.write(true) }
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
        let number = try reader.readByte()
        switch number {
        case 1, 7:
            var operation = try Operation(from: &reader)
            let level = try AckLevel(from: &reader)
            guard var attempt = PeerRequest.Attempt(rawValue: try reader.readByte()) else {
                throw .invalid("an attempt")
            }
            guard attempt != .minted || operation.mutation.action.mayBeMinted else {
                throw .invalid("an id that was just made")
            }
            if !reader.isAtEnd { operation.senders = try BlockedSenders(from: &reader) }
            if !reader.isAtEnd, try reader.readFlag() {
                attempt = .client
                if number == 7 { operation.refusal = try Refusal(from: &reader) }
            }
            guard number == 1 || operation.refusal != nil else {
                throw .invalid("a refusal of an operation")
            }
            self = .write(operation, level, attempt)
        case 2:
            var query = try AnyQuery(from: &reader)
            let user: UserID = try reader.readName()
            if !reader.isAtEnd, let part = query.ending(after: max(1, try reader.readNumber())) {
                query = part
            }
            self = .read(query, user)
        case 3:
            self = .list(
                try AnyQuery(from: &reader), try reader.readName(), try reader.readShards(),
                bytesMax: reader.isAtEnd ? nil : max(1, try reader.readNumber()))
        case 4:
            self = .copies(
                try reader.readShard(), try Vector(sharedFrom: &reader),
                forToken: reader.isAtEnd ? false : try reader.readFlag())
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
            missing.encode(into: &writer)
        case .copies(let count):
            writer.write(5)
            writer.write(count: count)
        case .failed(let failure):
            writer.write(6)
            failure.encode(into: &writer)
        case .notOwner: writer.write(7)
        case .level: writer.write(8)
        case .large(let bytes):
            writer.write(9)
            writer.write(count: bytes)
        }
        seen.encode(into: &writer)
        time.encode(into: &writer)
        // Earlier versions ignore all bytes after the values that they decode.
        let waiting = seen.filter(\.awaitsMajority).map(\.shard)
        let changedAt: HybridTimestamp? =
            if case .written(let receipt, _) = outcome { receipt.changedAt } else { nil }
        if !waiting.isEmpty || changedAt != nil { waiting.encode(into: &writer) }
        changedAt?.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        number = try reader.readVarint()
        round = try reader.readVarint()
        do throws(WireError) {
            outcome = try Completion(from: &reader)
        } catch .unknown {
            // An unknown outcome counts as `unsupported`, so that another member is asked.
            outcome = .failed(.unsupported)
            return
        } catch {
            throw error
        }
        seen = try reader.readList(limit: Int(ClusterSettings.shardsReadMax))
        time = try HybridTimestamp(from: &reader)
        guard !reader.isAtEnd else { return }
        let waiting = Set(try reader.readShards())
        for index in seen.indices {
            seen[index].awaitsMajority = waiting.contains(seen[index].shard)
        }
        guard !reader.isAtEnd, case .written(var receipt, let stored) = outcome else { return }
        receipt.changedAt = try HybridTimestamp(from: &reader)
        outcome = .written(receipt, stored)
    }
}

extension PeerResponse.Completion {
    init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .taken
        case 2: self = .written(try Receipt(from: &reader), try Stored(from: &reader))
        case 3:
            self = .found(
                try AnyFindings(from: &reader), part: try reader.readNumber(),
                isLast: try reader.readFlag())
        case 4:
            self = .listed(
                try AnyFindings(from: &reader), part: try reader.readNumber(),
                missing: try reader.readShards())
        case 5: self = .copies(try reader.readNumber())
        case 6: self = .failed(try ShardFailure(from: &reader))
        case 7: self = .notOwner
        case 8: self = .level
        case 9: self = .large(bytes: try reader.readNumber())
        default: throw .unknown
        }
    }
}

extension AckLevel: NumberedChoice {
    public static var noun: String { "an acknowledgement level" }

    public var number: UInt8 {
        switch self {
        case .local: 1
        case .majority: 2
        case .all: 3
        }
    }
}

extension ByteReader {
    mutating func readShards() throws(WireError) -> [ShardID] {
        try readList(limit: Int(ClusterSettings.shardsReadMax))
    }
}
