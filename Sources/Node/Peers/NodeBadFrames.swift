import Replication
import Wire

/// The handling of unreadable frames from members, and of frames whose contents no node would send.
///
/// A bad frame ends only the operation that it belongs to, the pull of one shard. The connection
/// stays open, because all shards share it; the node closes a connection only if its byte stream
/// cannot be split into frames.
extension Node {
    /// Logs, once for each address, that the node there shares no protocol version with this node;
    /// one of the two nodes has to be upgraded, version by version.
    func noteOtherVersion(_ greeting: Greeting) {
        let address = greeting.dialed ?? "a node that dialled"
        guard strangers.insert("version " + address).inserted else { return }
        ports.host.log(.error, "no version of the wire in common peer=\(address)")
    }

    /// The maximum number of bytes of incomplete frames, of all members together.
    static let unfinishedBytesMax = 256 << 20

    /// Checks the size of all incomplete frames if this connection has a large incomplete frame.
    ///
    /// One frame may be as large as the largest document, but not one of every member at a time.
    ///
    /// - Throws: `tooLong` if all incomplete frames together exceed `unfinishedBytesMax`.
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

    /// Handles a frame that a shard has rejected.
    func onRefused(_ failure: ShardFailure, in shard: Shard, from connection: PeerConnection) {
        guard case .badFrame(let error) = failure else {
            // A read of this node's own disk failed. The replica's vector does not contain the
            // changes that were not merged, so they are fetched again.
            return log(badFrame: "\(failure)", of: shard.id, pause: nil, from: connection)
        }
        onBadFrame(of: shard, from: connection, because: "\(error)")
    }

    /// Refuses a frame whose vectors of these shards build on base vectors that this node lacks.
    ///
    /// The member is notified, and sends its next vectors of these shards whole. The refused data
    /// is sent again, or requested from another member.
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
            // The holder counts the other positions as reported, so these feeds are opened again.
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

    /// Logs refused frames of a member: at most one line a second, because there may be thousands.
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
    /// Returns the shard of a replication frame that is not readable as a whole; nil if the shard
    /// is not readable either.
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
