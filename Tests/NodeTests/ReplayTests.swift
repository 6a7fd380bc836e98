import CRDT
import Chat
import Membership
import Replication
import Testing
import Wire

@testable import Node

/// The moment at which a resumed watcher has received everything that a holder has.
@Suite struct ReplayTests {
    private static let bob = UserID(checked: "bob")

    private let world = NodeWorld()
    private let participantState: NodeSeat

    init() {
        participantState = world.add("n1")
        world.run(milliseconds: 100)
    }

    /// A vector that no replica holds.
    private var ahead: Vector {
        var vector = Vector()
        vector.insert(Dot(replica: RandomID(high: 9, low: 9), seq: 3))
        return vector
    }

    private func take(_ frames: (ShardID) -> [WatchFrame]) {
        let frames = frames(ShardID(0))
        participantState.run { node in
            for frame in frames { node.onWatchFrame(frame, from: node.me.name) }
        }
        world.endTurn(of: participantState)
    }

    private func isServed(_ number: UInt64) -> Bool {
        participantState.run { $0.publisher.served(number, for: $0.me.name) != nil }
    }

    @Test func `a replay ends where the feed of the node that asked is level, not before`() {
        participantState.run { node in
            node.subscriptions.feeds = [Subscriptions.Feed(), Subscriptions.Feed()]
            node.subscriptions.feeds[0].holder = node.me.name
            node.subscriptions.feeds[0].number = 1
        }
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

    @Test func `a feed of which the close was lost ends with the next event`() {
        // Its first event says where it begins; by then nobody here knows its number.
        take { [.users([Self.bob]), .open($0, number: 77, since: nil)] }
        #expect(!isServed(77))
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
        var subscriptions = Subscriptions()
        subscriptions.feeds = [Subscriptions.Feed()]
        subscriptions.add(
            Subscriptions.Watcher(
                slot: ReplySlot(session: 1, number: 1), user: Self.bob, deadline: 0,
                concerns: [id]))
        // Another holder had published it before this watcher began.
        subscriptions.raise(id, to: ahead)
        subscriptions.note(1) { $0.behind[id] = Subscriptions.Backlog(since: Vector(), number: 7) }
        subscriptions.endReplay(of: id, to: 1, at: Vector())
        #expect(subscriptions.lagging.isEmpty)
        #expect(subscriptions.token(of: 1, in: cluster, Checkpoints()) == token(Vector()))
        // A third holder may have it, and is asked.
        subscriptions.lag(behind: id)
        #expect(subscriptions.lagging == [1] && subscriptions[1]?.behind[id]?.since == Vector())
        subscriptions.endReplay(of: id, to: 1, at: Vector())
        // The holder gets it, and publishes it.
        subscriptions.noteHeld(ahead, of: id)
        #expect(subscriptions.token(of: 1, in: cluster, Checkpoints()) == token(ahead))
        #expect(subscriptions[1]?.isLevel == true)
    }
}
