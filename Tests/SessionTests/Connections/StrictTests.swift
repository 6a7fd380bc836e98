import Node
import NodeKit
import Testing

@testable import Session

/// A client that requires replicas is told when there are too few.
@Suite struct StrictTests {
    @Test func `a strict level that is not reached within a second is 504, and the write stays`() {
        let world = World()
        let other = world.join("n2")
        let client = world.n1.connect()
        func ask(_ line: String) -> [String] {
            client.say(line)
            world.settle(world.n1, other)
            return client.heard()
        }
        #expect(ask("CREATE c alice,bob") == ["OK"])
        #expect(ask("SET ack=all strict=true") == ["OK ack=all strict=true"])
        #expect(ask("SEND c alice id=m1 hello").first?.hasSuffix(" replicas=2/2") == true)
        world.cut(other)
        client.say("SEND c alice id=m2 hello")
        world.pass(milliseconds: 900, world.n1)
        #expect(client.heard().isEmpty)
        world.pass(milliseconds: 200, world.n1)
        #expect(client.heard() == ["ERR 504 Stored on 1 of 2 owners"])
        #expect(client.ask("HISTORY c bob").count == 3)
        #expect(client.ask("SET ack=all strict=false") == ["OK ack=all"])
        client.say("SEND c alice id=m2 hello", "READ c bob")
        world.pass(milliseconds: 1_100, world.n1)
        let heard = client.heard()
        #expect(heard.first?.hasSuffix(" replicas=1/2") == true && heard.last == "OK unread=0")
        // A dead owner counts as an owner, and its replica is missing.
        world.live(milliseconds: 10_000, world.n1)
        #expect(client.ask("MEMBERS").contains { $0.contains(" state=dead ") })
        _ = client.ask("SET ack=majority strict=true")
        #expect(client.ask("SEND c alice id=m3 hi") == ["ERR 504 Stored on 1 of 2 owners"])
        _ = client.ask("SET ack=local strict=true")
        #expect(client.ask("SEND c alice id=m4 hi").first?.hasSuffix(" replicas=1/2") == true)
    }

    @Test func `SET takes a level and whether it is strict, and nothing else`() {
        let client = World().n1.connect()
        for line in ["SET strict=true", "SET ack=all strict=maybe", "SET ack=all strict="] {
            #expect(client.ask(line).first?.hasPrefix("ERR 400 ") == true)
        }
    }
}
