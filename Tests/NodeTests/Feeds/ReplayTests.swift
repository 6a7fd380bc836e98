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
    private let node: WorldNode

    init() {
        node = world.add("n1")
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
        node.run { node in
            for frame in frames { node.onWatchFrame(frame, from: node.me.name) }
        }
        world.endTurn(of: node)
    }

    private func isServed(_ number: UInt64) -> Bool {
        node.run { $0.publisher.served(number, for: $0.me.name) != nil }
    }

    @Test func `a replay ends where the feed of the node that asked is level, not before`() {
        node.run { node in
            node.subscriptions.feeds = [Subscriptions.Feed(), Subscriptions.Feed()]
            node.subscriptions.feeds[0].holder = node.me.name
            node.subscriptions.feeds[0].number = 1
        }
        take { shard in
            [
                .open(shard, number: 1, since: SaidVector(ahead)),
                .replay(
                    shard, number: 2, Self.bob, since: SaidVector(Vector()),
                    progress: ReplayProgress()),
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

    @Test func `a position that found no capacity is said with the next frame`() throws {
        let n2 = NodeName(checked: "n2")
        world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        let link = try #require(node.run { $0.links[n2]?.channel.id })
        let channel = try #require(world.channels.first { $0.id == link })
        // The test takes the place of the second node, which would close a feed that it has not
        // opened.
        channel.isCut = true
        let shard = ShardID(of: lobby.text, count: 2)
        func deliver(_ frames: [WatchFrame]) {
            node.run { node in
                for frame in frames { node.onWatchFrame(frame, from: n2) }
            }
            world.endTurn(of: node)
        }
        func known() -> Vector? {
            node.run { $0.publisher.liveFeed(of: shard, for: n2)?.known }
        }
        func position() -> Vector? {
            node.run { node in
                node.shard(shard).map { $0.assumeIsolated { $0.feedPosition } }
            }
        }
        deliver([.users([Self.bob]), .open(shard, number: 77, since: nil)])
        #expect(known() == position())
        let before = known()
        // Nobody who is watched there is told of this.
        #expect(node.submit(create(), number: 1))
        world.run(milliseconds: 100)
        #expect(known() == before && position() != before)
        channel.queuedBytes = .max / 2
        deliver([.watch(5, alice)])
        #expect(known() == before)
        channel.queuedBytes = 0
        deliver([.watch(6, alice)])
        #expect(known() == position())
    }

    @Test func `a replay for a node that has no feed of the shard is not kept`() {
        take {
            [
                .replay(
                    $0, number: 2, Self.bob, since: SaidVector(Vector()),
                    progress: ReplayProgress())
            ]
        }
        #expect(!isServed(2))
    }

    /// The subscriptions of a node whose session 1 watches one shard.
    private static func watched(_ shard: ShardID) -> Subscriptions {
        var subscriptions = Subscriptions(tokenBytesMax: Token.textBytesMax)
        subscriptions.feeds = [Subscriptions.Feed()]
        subscriptions.add(
            Subscriptions.Watcher(
                slot: ReplySlot(session: 1, number: 1), user: bob, deadline: 0, concerns: [shard]))
        return subscriptions
    }

    @Test func `what a replay passed with a held event counts for no other replay`() throws {
        let id = ShardID(0)
        var subscriptions = Self.watched(id)
        subscriptions.updateWatcher(1) { $0.behind[id] = Subscriptions.Backlog(since: Vector()) }
        let event = WatchedEvent(
            Chat.Event(
                .pin(MessageID(checked: "m")), in: lobby, by: Self.bob,
                at: HybridTimestamp(milliseconds: 9)), on: InlineExecutor())
        var told: [Int] = []
        func tell(passing passed: Vector?) {
            told.append(
                subscriptions.hold([event], passing: passed, of: id, for: 1).count)
        }
        #expect(subscriptions.beginReplay(of: id, for: 1, as: 7)?.number == 7)
        tell(passing: ahead)
        // Another holder goes on, which need not hold what the first one held.
        #expect(subscriptions.beginReplay(of: id, for: 1, as: 8)?.progress.isEmpty == true)
        #expect(subscriptions.replays[7] == nil && subscriptions.replays[8] != nil)
        tell(passing: ahead)
        #expect(subscriptions[1]?.behind[id]?.progress.isEmpty == true)
        tell(passing: nil)
        #expect(subscriptions[1]?.behind[id]?.progress.passed == ahead)
        #expect(told == [0, 1, 1])
    }

    @Test func `what a holder lacks is not in the token of who was told by it`() {
        let (id, cluster) = (ShardID(0), ClusterID(high: 1, low: 2))
        func token(_ seen: Vector) -> String {
            Token(of: [(id, seen)], first: [id], cluster: cluster).text
        }
        var subscriptions = Self.watched(id)
        // Another holder had published it before this watcher began.
        subscriptions.raise(id, to: ahead)
        subscriptions.updateWatcher(1) {
            $0.behind[id] = Subscriptions.Backlog(since: Vector(), number: 7)
        }
        _ = subscriptions.endReplay(of: id, to: 1, at: Vector())
        #expect(subscriptions.lagging.isEmpty)
        #expect(subscriptions.token(of: 1, in: cluster, Checkpoints()) == token(Vector()))
        // A third holder may have it, and is asked.
        subscriptions.lag(behind: id)
        #expect(subscriptions.lagging == [1] && subscriptions[1]?.behind[id]?.since == Vector())
        _ = subscriptions.endReplay(of: id, to: 1, at: Vector())
        // The holder gets it, and publishes it.
        subscriptions.noteHeld(ahead, of: id)
        #expect(subscriptions.token(of: 1, in: cluster, Checkpoints()) == token(ahead))
        #expect(subscriptions[1]?.isCaughtUp == true)
    }
}
