import CRDT
import Chat
import Replication
import Wire

/// The frames about watchers and feeds between nodes.
///
/// A node with watchers gets the events of each shard from exactly one holder: itself or another
/// node. The node sends that holder the users that it watches, and opens a feed, whose events are
/// ordered.
package enum WatchFrame: Hashable, Sendable {
    // Frames from a node with watchers to a holder.

    /// Adds users to the users that the sender watches.
    case users([UserID])
    /// Adds a user to the users that the sender watches; the holder answers with `watched`.
    case watch(UInt64, UserID)
    case unwatch(UserID)
    /// Opens a feed: the events of a shard from now on, or all events that are not in `since`.
    case open(ShardID, number: UInt64, since: SaidVector?)
    case close(ShardID, number: UInt64)
    /// Requests the events of a shard that one user lacks; the holder answers with `told` frames,
    /// and then with `replayed`.
    ///
    /// - since: the vector against which documents are compared.
    /// - progress: the progress of an earlier replay since the same changes.
    case replay(ShardID, number: UInt64, UserID, since: SaidVector, progress: ReplayProgress)

    // Frames from a holder to a node with watchers.

    /// The confirmation of a `watch` frame: from now on the feeds contain the user's events.
    ///
    /// - concerns: the shards that contain data of the user, among those with a feed.
    /// - positions: the positions of feeds that have not been reported to the receiver yet.
    case watched(UInt64, concerns: [ShardID], positions: [Position])
    /// The holder of a feed or a replay lacks some changes that the receiver has seen, and has
    /// stopped waiting for them. The events that follow may be older, and include only `position`
    /// of these changes.
    case lowered(ShardID, number: UInt64, position: SaidVector)
    /// Events, and the position of the feed after the last of them. In a replay, `position`
    /// contains the changes of documents completed so far. It is nil if more events may come before
    /// a position is known.
    case told(ShardID, number: UInt64, [AddressedEvent], position: SaidVector?)
    /// The vector of the replica that is read for a replay. The changes that the next `told` frames
    /// complete are valid at replicas that contain this vector.
    case scanning(ShardID, number: UInt64, target: SaidVector)
    /// The end of a replay, which has sent all events in `position`; the feed continues from there.
    case replayed(ShardID, number: UInt64, position: SaidVector)
    /// The feed or the replay has ended at this holder: the receiver has to request another one.
    case refused(ShardID, number: UInt64)

    /// The position of a feed, with its shard and number.
    package struct Position: VectorCarrier, Hashable, Sendable {
        let shard: ShardID
        let number: UInt64
        private var said: SaidVector

        init(shard: ShardID, number: UInt64, vector: Vector) {
            self.shard = shard
            self.number = number
            said = SaidVector(vector)
        }

        /// The whole vector, after `SaidVectors.hear` has completed it.
        var vector: Vector { said.vector }

        package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
            body(shard, &said)
        }
    }

    /// The maximum number of users in one frame.
    static let usersMax = 4_096
    /// The maximum number of addressed events in one frame.
    static let addressedEventsMax = 65_536
}

extension WatchFrame: VectorCarrier {
    package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        switch self {
        case .open(let shard, let number, .some(var since)):
            body(shard, &since)
            self = .open(shard, number: number, since: since)
        case .replay(let shard, let number, let user, var since, let progress):
            body(shard, &since)
            self = .replay(shard, number: number, user, since: since, progress: progress)
        case .scanning(let shard, let number, var target):
            body(shard, &target)
            self = .scanning(shard, number: number, target: target)
        case .watched(let number, let concerns, var positions):
            for index in positions.indices { positions[index].eachVector(body) }
            self = .watched(number, concerns: concerns, positions: positions)
        case .told(let shard, let number, let addressedEvents, .some(var position)):
            body(shard, &position)
            self = .told(shard, number: number, addressedEvents, position: position)
        case .replayed(let shard, let number, var position):
            body(shard, &position)
            self = .replayed(shard, number: number, position: position)
        case .lowered(let shard, let number, var position):
            body(shard, &position)
            self = .lowered(shard, number: number, position: position)
        default: break
        }
    }
}

extension WatchFrame: WireValue {
    private enum Number {
        static let users: UInt8 = 1
        static let watch: UInt8 = 2
        static let unwatch: UInt8 = 3
        static let open: UInt8 = 4
        static let close: UInt8 = 5
        static let replay: UInt8 = 6
        static let watched: UInt8 = 7
        static let told: UInt8 = 8
        static let replayed: UInt8 = 9
        static let refused: UInt8 = 10
        static let lowered: UInt8 = 11
        /// Nodes of earlier versions skip this kind of frame, and the positions of replays.
        static let scanning: UInt8 = 12
    }

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .users(let users):
            writer.write(Number.users)
            users.encode(into: &writer)
        case .watch(let number, let user):
            writer.write(Number.watch)
            writer.write(varint: number)
            writer.write(user)
        case .unwatch(let user):
            writer.write(Number.unwatch)
            writer.write(user)
        case .open(let shard, let number, let since):
            write(Number.open, shard, number, into: &writer)
            since.encode(into: &writer)
        case .close(let shard, let number):
            write(Number.close, shard, number, into: &writer)
        case .replay(let shard, let number, let user, let since, let progress):
            write(Number.replay, shard, number, into: &writer)
            writer.write(user)
            since.encode(into: &writer)
            // Nodes of earlier versions ignore bytes after the values that they can read.
            if !progress.isEmpty { progress.encode(into: &writer) }
        case .scanning(let shard, let number, let target):
            write(Number.scanning, shard, number, into: &writer)
            target.encode(into: &writer)
        case .watched(let number, let concerns, let positions):
            writer.write(Number.watched)
            writer.write(varint: number)
            concerns.encode(into: &writer)
            positions.encode(into: &writer)
        case .told(let shard, let number, let addressedEvents, let position):
            write(Number.told, shard, number, into: &writer)
            addressedEvents.withoutBlocks.encode(into: &writer)
            position.encode(into: &writer)
            addressedEvents.encodeRest(into: &writer)
        case .replayed(let shard, let number, let position):
            write(Number.replayed, shard, number, into: &writer)
            position.encode(into: &writer)
        case .refused(let shard, let number):
            write(Number.refused, shard, number, into: &writer)
        case .lowered(let shard, let number, let position):
            write(Number.lowered, shard, number, into: &writer)
            position.encode(into: &writer)
        }
    }

    private func write(
        _ kind: UInt8, _ shard: ShardID, _ number: UInt64, into writer: inout ByteWriter
    ) {
        writer.write(kind)
        writer.write(shard)
        writer.write(varint: number)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case Number.users: self = .users(try reader.readUsers())
        case Number.watch: self = .watch(try reader.readVarint(), try reader.readName())
        case Number.unwatch: self = .unwatch(try reader.readName())
        case Number.open:
            self = .open(
                try reader.readShard(), number: try reader.readVarint(),
                since: try Optional(from: &reader))
        case Number.close:
            self = .close(try reader.readShard(), number: try reader.readVarint())
        case Number.replay:
            self = .replay(
                try reader.readShard(), number: try reader.readVarint(),
                try reader.readName(), since: try SaidVector(from: &reader),
                progress: reader.isAtEnd ? ReplayProgress() : try ReplayProgress(from: &reader))
        case Number.scanning:
            self = .scanning(
                try reader.readShard(), number: try reader.readVarint(),
                target: try SaidVector(from: &reader))
        case Number.watched:
            self = .watched(
                try reader.readVarint(), concerns: try reader.readShards(),
                positions: try reader.readList(limit: Int(ClusterSettings.shardsReadMax)))
        case Number.told:
            let (shard, number) = (try reader.readShard(), try reader.readVarint())
            var addressedEvents: [AddressedEvent] = try reader.readList(
                limit: WatchFrame.addressedEventsMax)
            let position: SaidVector? = try Optional(from: &reader)
            try addressedEvents.readRest(from: &reader)
            self = .told(shard, number: number, addressedEvents, position: position)
        case Number.replayed:
            self = .replayed(
                try reader.readShard(), number: try reader.readVarint(),
                position: try SaidVector(from: &reader))
        case Number.refused:
            self = .refused(try reader.readShard(), number: try reader.readVarint())
        case Number.lowered:
            self = .lowered(
                try reader.readShard(), number: try reader.readVarint(),
                position: try SaidVector(from: &reader))
        default: throw .unknown
        }
    }
}

extension WatchFrame.Position: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(shard)
        writer.write(varint: number)
        said.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        shard = try reader.readShard()
        number = try reader.readVarint()
        said = try SaidVector(from: &reader)
    }
}
