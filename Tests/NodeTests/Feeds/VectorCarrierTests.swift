import CRDT
import Chat
import Testing
import Wire

@testable import Node
@testable import Replication

/// Frames with the vector of a shard to which a thousand processes have written.
@Suite struct VectorCarrierTests {
    private static let shard = ShardID(3)

    private static let vector: Vector = {
        var vector = Vector()
        for number in UInt64(1)...1_000 {
            vector.insert(SeqSet(1...500), of: RandomID(high: number, low: 7))
        }
        return vector
    }()

    private static var claim: Frame.VersionClaim {
        Frame.VersionClaim(vector: vector, digest: .zero, isComplete: true, isServing: true)
    }

    private static let frames: [PeerFrame] = [
        .replication(.offer(Frame.Offer(shard: shard, claim: claim, isAnswer: true))),
        .replication(.pull(shard, number: 1, SaidVector(vector))),
        .replication(.done(shard, number: 1, batches: 2, claim)),
        .replication(.handover(shard, mark: 1, claim)),
        .replication(.accept(shard, mark: 1, claim)),
        .watch(.open(shard, number: 2, since: SaidVector(vector))),
        .watch(
            .replay(
                shard, number: 4, UserID(checked: "ann"), since: SaidVector(vector),
                progress: ReplayProgress())),
        .watch(
            .watched(
                5, concerns: [shard],
                positions: [WatchFrame.Position(shard: shard, number: 6, vector: vector)])),
        .watch(.told(shard, number: 7, [], position: SaidVector(vector))),
        .watch(.replayed(shard, number: 8, position: SaidVector(vector))),
        .request(
            PeerRequest(
                number: 1, round: 1, deadline: 1,
                request: .level(
                    shard, ReadConstraint(.vector(SaidVector(vector)), isStrict: true)))),
        .response(
            PeerResponse(
                number: 1, round: 1, outcome: .level,
                seen: [ObservedShard(shard: shard, vector: vector)])),
    ]

    @Test(arguments: frames)
    func `names them once, and is heard whole`(frame: PeerFrame) throws {
        var said = SaidVectors(restRangesMax: VectorBase.restRangesMax)
        var heard = said
        for length in [21_000, 200, 200] {
            var sent = frame
            said.say(in: &sent)
            let bytes = sent.encoded
            #expect(bytes.count < length)
            var arrived = try PeerFrame.decode(bytes)
            #expect(heard.hear(in: &arrived).isEmpty)
            #expect(arrived == frame)
        }
        var (late, beyond) = (SaidVectors(restRangesMax: VectorBase.restRangesMax), frame)
        said.say(in: &beyond)
        #expect(late.hear(in: &beyond) == [Self.shard])
    }
}
