import CRDT
import Chat
import Membership
import Replication
import Testing
import Wire

@testable import Node

/// When who comes back has been told all that a holder has to tell.
@Suite struct ReplayTests {
    private static let bob = UserID(checked: "bob")

    private let world = NodeWorld()
    private let seat: NodeSeat

    init() {
        seat = world.add("n1")
        world.run(milliseconds: 100)
    }

    /// What no copy holds.
    private var ahead: Vector {
        var vector = Vector()
        vector.insert(Dot(replica: RandomID(high: 9, low: 9), seq: 3))
        return vector
    }

    private func take(_ frames: (ShardID) -> [WatchFrame]) {
        let frames = frames(ShardID(0))
        seat.run { node in
            for frame in frames { node.onWatchFrame(frame, from: node.me.name) }
        }
        world.endTurn(of: seat)
    }

    private func isServed(_ number: UInt64) -> Bool {
        seat.run { $0.desk.served(number, for: $0.me.name) != nil }
    }

    @Test func `a replay ends where the feed of the node that asked is level, not before`() {
        take { shard in
            [
                .open(shard, number: 1, since: SaidVector(ahead)),
                .replay(shard, number: 2, Self.bob, since: SaidVector(Vector())),
            ]
        }
        #expect(isServed(1) && isServed(2))
        // What is missing may exist nowhere any more.
        world.run(milliseconds: FeedScan.patienceMilliseconds + 500)
        #expect(isServed(1) && !isServed(2))
    }

    @Test func `a replay for a node that has no feed of the shard is not kept`() {
        take { [.replay($0, number: 2, Self.bob, since: SaidVector(Vector()))] }
        #expect(!isServed(2))
    }

    @Test func `what a holder lacks is not in the token of who was told by it`() {
        let (id, cluster) = (ShardID(0), ClusterID(high: 1, low: 2))
        func token(_ seen: Vector) -> String {
            Token(of: [(id, seen)], first: [id], cluster: cluster).text
        }
        var watching = Watching()
        watching.feeds = [Watching.Feed()]
        watching.add(
            Watching.Watcher(
                slot: ReplySlot(session: 1, number: 1), user: Self.bob, deadline: 0,
                concerns: [id]))
        // Another holder told of it before this one began to watch.
        watching.raise(id, to: ahead)
        watching.note(1) { $0.behind[id] = Watching.Behind(since: Vector(), number: 7) }
        watching.endReplay(of: id, to: 1, at: Vector())
        #expect(watching.lagging.isEmpty)
        #expect(watching.token(of: 1, in: cluster, Checkpoints()) == token(Vector()))
        // A third holder may have it, and is asked.
        watching.lag(behind: id)
        #expect(watching.lagging == [1] && watching[1]?.behind[id]?.since == Vector())
        watching.endReplay(of: id, to: 1, at: Vector())
        // The holder gets it, and tells everybody.
        watching.noteHeld(ahead, of: id)
        #expect(watching.token(of: 1, in: cluster, Checkpoints()) == token(ahead))
        #expect(watching[1]?.isLevel == true)
    }
}
