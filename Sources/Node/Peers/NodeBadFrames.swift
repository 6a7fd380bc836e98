import Replication
import Wire

/// The handling of members' frames that cannot be read, or whose contents no node would send.
///
/// Such a frame ends only what it was part of, the pull of one shard. The connection stays, since
/// all shards share it; it is closed only where the stream itself cannot be cut into frames.
extension Node {
    /// Logs, once for each address, that the node there shares no protocol version with this one:
    /// one of the two has to be upgraded, version by version.
    func noteOtherVersion(_ greeting: Greeting) {
        let address = greeting.dialed ?? "a node that dialled"
        guard strangers.insert("version " + address).inserted else { return }
        ports.host.log(.error, "no version of the wire in common peer=\(address)")
    }

    /// The most bytes of incomplete frames, of all members together.
    static let unfinishedBytesMax = 256 << 20

    /// Checks the size of all incomplete frames, where this connection has a large one.
    ///
    /// One frame may be as large as the largest document, but not one of each member at a time.
    ///
    /// - Throws: `tooLong` above `unfinishedBytesMax`.
    func checkUnfinishedFrames(of connection: PeerConnection) throws(WireError) {
        guard connection.cutter.keptCount > Envelope.plainBytesMax else { return }
        let kept = links.ascending.reduce(0) { $0 + $1.cutter.keptCount }
        guard kept <= Node.unfinishedBytesMax else {
            throw .tooLong(count: UInt64(kept), limit: Node.unfinishedBytesMax)
        }
    }

    /// Handles a frame whose payload cannot be read.
    func onUnreadable(
        _ payload: ArraySlice<UInt8>, from connection: PeerConnection, because error: WireError
    ) {
        let id = PeerFrame.shard(ofUnreadable: payload)
        onBadFrame(of: id.flatMap { shard($0) }, from: connection, because: "\(error)")
    }

    /// Handles a frame that a shard could not take.
    func onRefused(_ failure: ShardFailure, in shard: Shard, from connection: PeerConnection) {
        guard case .badFrame(let error) = failure else {
            // A read of this node's own disk failed. What was not merged is not claimed, and so it
            // is fetched again.
            return log(badFrame: "\(failure)", of: shard.id, pause: nil, from: connection)
        }
        onBadFrame(of: shard, from: connection, because: "\(error)")
    }

    /// Refuses a frame whose vectors of these shards build on vectors that this node has not
    /// received.
    ///
    /// The member is told so, and sends its next vectors of these shards whole. What the frame was
    /// part of is sent again, or requested from another member.
    func onUnheard(_ shards: [ShardID], in frame: PeerFrame, from connection: PeerConnection) {
        for shard in shards { connection.send(.unheard(shard)) }
        switch frame {
        case .response(var response):
            response.refuse()
            onResponse(response, from: connection.name)
        case .request(let request):
            connection.sendResponse(
                PeerResponse(
                    number: request.number, round: request.round, outcome: .failed(.unsupported)))
        case .watch(.open(let id, let number, _)), .watch(.replay(let id, let number, _, _, _)):
            refuse(number, of: id, to: connection.name)
        case .watch(.told(let id, let number, _, _)), .watch(.replayed(let id, let number, _)),
            .watch(.lowered(let id, let number, _)), .watch(.scanning(let id, let number, _)):
            onFed(.refused(id, number: number), by: connection.name)
        case .watch(.watched(let number, let concerns, let positions)):
            let heard = positions.filter { !shards.contains($0.shard) }
            onFed(.watched(number, concerns: concerns, positions: heard), by: connection.name)
            // The holder counts the other positions as said: these feeds are opened again.
            for position in positions where shards.contains(position.shard) {
                onFed(.refused(position.shard, number: position.number), by: connection.name)
            }
        default:
            let reason = "it builds on a vector that this node has not received"
            for id in shards { onBadFrame(of: shard(id), from: connection, because: reason) }
        }
    }

    private func onBadFrame(
        of shard: Shard?, from connection: PeerConnection, because reason: String
    ) {
        let name = connection.name
        let pause = shard.map { within($0) { $0.onBadFrame(from: name) } }
        log(badFrame: reason, of: shard?.id, pause: pause, from: connection)
    }

    /// Logs refused frames of a member: one line a second at most, since there may be thousands.
    private func log(
        badFrame reason: String, of id: ShardID?, pause: UInt64?, from connection: PeerConnection
    ) {
        guard let count = connection.takeBadFrames(now: ports.clock.milliseconds) else { return }
        let shard = id.map { " shard=\($0)" } ?? ""
        let wait = pause.map { " pause=\($0)ms" } ?? ""
        ports.host.log(
            .error,
            "frame refused: \(reason)\(shard) peer=\(connection.name) frames=\(count)\(wait)")
    }
}

extension PeerFrame {
    /// The shard of a replication frame that cannot be read to its end; nil where the shard cannot
    /// be read, either.
    static func shard(ofUnreadable payload: ArraySlice<UInt8>) -> ShardID? {
        var reader = ByteReader(payload)
        do throws(WireError) {
            guard try reader.readByte() == version, try reader.readByte() == Kind.replication
            else { return nil }
            return try Frame.shard(from: &reader)
        } catch {
            return nil
        }
    }
}
