import CRDT
import Chat
import Replication
import TestKit
import Testing
import Wire

@testable import Node

/// Frames between nodes about watchers and about users who type.
@Suite struct WatchFrameTests {
    private static let shard = ShardID(3)
    private static let users = [UserID(checked: "alice"), UserID(checked: "bob")]

    private static var vector: Vector {
        var vector = Vector()
        vector.insert(Dot(replica: RandomID(high: 1, low: 2), seq: 7))
        return vector
    }

    private static let told = AddressedEvent(
        Chat.Event(
            .pin(MessageID(checked: "m")), in: ConversationID(checked: "c"), by: users[0],
            at: HybridTimestamp(milliseconds: 9)), to: users)

    private static let frames: [WatchFrame] = [
        .users([]), .users(users), .watch(1, users[0]), .unwatch(users[1]),
        .open(shard, number: 2, since: nil), .open(shard, number: 2, since: SaidVector(vector)),
        .close(shard, number: 3),
        .replay(shard, number: 4, users[0], since: SaidVector(vector), progress: ReplayProgress()),
        .watched(5, concerns: [], positions: []),
        .watched(
            5, concerns: [shard],
            positions: [WatchFrame.Position(shard: shard, number: 6, vector: vector)]),
        .told(shard, number: 7, [], position: SaidVector(vector)),
        .told(shard, number: 7, [told], position: nil),
        .replayed(shard, number: 8, position: SaidVector(vector)),
        .scanning(shard, number: 11, target: SaidVector(vector)),
        .refused(shard, number: 9), .lowered(shard, number: 10, position: SaidVector(vector)),
    ]

    @Test(arguments: frames)
    func `a frame reads as it was written, and as nothing shorter`(frame: WatchFrame) throws {
        let bytes = PeerFrame.watch(frame).encoded
        #expect(try PeerFrame.decode(bytes) == .watch(frame))
        for count in 0..<bytes.count {
            #expect(throws: WireError.self) { try PeerFrame.decode(bytes.prefix(count)) }
        }
    }

    @Test func `what a replay has passed follows what earlier builds know of the frame`() throws {
        func replay(_ progress: ReplayProgress) -> WatchFrame {
            .replay(
                Self.shard, number: 4, Self.users[0], since: SaidVector(Self.vector),
                progress: progress)
        }
        let progress = ReplayProgress(passed: Self.vector, target: Self.vector)
        let bytes = PeerFrame.watch(replay(progress)).encoded
        #expect(try PeerFrame.decode(bytes) == .watch(replay(progress)))
        let earlier = PeerFrame.watch(replay(ReplayProgress())).encoded
        #expect(bytes.starts(with: earlier) && bytes.count > earlier.count)
    }

    @Test func `when messages were sent follows what earlier builds know of their events`() throws {
        func told(_ sentAt: HybridTimestamp?) -> PeerFrame {
            let event = Chat.Event(
                .pin(MessageID(checked: "m")), in: ConversationID(checked: "c"), by: Self.users[0],
                at: HybridTimestamp(milliseconds: 9), sentAt: sentAt)
            return .watch(
                .told(
                    Self.shard, number: 7, [AddressedEvent(event, to: Self.users), Self.told],
                    position: nil))
        }
        let whole = told(HybridTimestamp(milliseconds: 8))
        #expect(try PeerFrame.decode(whole.encoded) == whole)
        let earlier = told(nil).encoded
        #expect(whole.encoded.starts(with: earlier) && whole.encoded.count > earlier.count)
    }

    @Test func `so does the word of who types`() throws {
        for (until, isEnded): (UInt64?, Bool) in [(nil, false), (5_900, false), (nil, true)] {
            let frame = TypingFrame(
                conversation: ConversationID(checked: "c"), user: Self.users[0], until: until,
                isEnded: isEnded, at: 1_700_000_000_000, participants: Self.users)
            #expect(try PeerFrame.decode(PeerFrame.typing(frame).encoded) == .typing(frame))
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("watch-frame", of: Self.frames.map(\.encoded)).difference() == nil)
    }
}
