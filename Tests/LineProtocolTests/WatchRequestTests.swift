import CRDT
import Chat
import LineProtocol
import Testing
import Wire

@Suite struct WatchRequestTests {
    private func request(_ line: String) throws -> Request? { try parsed(line).get() }

    @Test func `who is watched, and since when`() throws {
        let token = Token(of: [], cluster: RandomID(high: 1, low: 2))
        let bob = UserID(checked: "bob")
        #expect(
            try request("WATCH bob tokens=off")
                == .watch(Request.Watch(user: bob, since: nil, hasTokens: false)))
        #expect(try request("WATCH bob") == .watch(Request.Watch(user: bob, since: nil)))
        #expect(
            try request("watch bob since=\(token.text)")
                == .watch(Request.Watch(user: bob, since: token)))
        #expect(try request("UNWATCH") == .unwatch)
        for line in ["WATCH", "WATCH bob since=", "WATCH bob since=x", "UNWATCH bob", "WATCH a b"] {
            #expect(refused(line)?.code == 400, "\(line)")
        }
    }

    @Test func `the longest token is taken`() throws {
        var seen: [(shard: ShardID, vector: Vector)] = []
        for shard in 0..<100 as Range<UInt16> {
            var vector = Vector()
            vector.insert(SeqSet(1...1_000_000), of: RandomID(high: UInt64(shard) << 40, low: 1))
            seen.append((ShardID(shard), vector))
        }
        let token = Token(of: seen, cluster: RandomID(high: 1, low: 2))
        #expect(token.text.utf8.count > LineLimits.fieldBytesMax)
        let watch = Request.Watch(user: UserID(checked: "bob"), since: token)
        #expect(try request("WATCH bob since=\(token.text)") == .watch(watch))
        let long = String(repeating: "A", count: LineLimits.tokenBytesMax + 1)
        #expect(refused("WATCH bob since=\(long)")?.code == 413)
    }

    @Test func `who types where, or stopped`() throws {
        func typing(_ isOn: Bool) -> Request {
            .typing(
                Request.Typing(
                    conversation: ConversationID(checked: "c"), user: UserID(checked: "bob"),
                    isOn: isOn))
        }
        #expect(try request("TYPING c bob on") == typing(true))
        #expect(try request("TYPING c bob off") == typing(false))
        for line in ["TYPING c bob", "TYPING c bob ON", "TYPING c bob on now", "TYPING c"] {
            #expect(refused(line)?.code == 400, "\(line)")
        }
    }
}
