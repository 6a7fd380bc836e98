import CRDT
import Chat
import Node
import NodeKit
import Placement
import Testing
import Wire

@testable import Session

/// Whom users who have signed in to an account may add to conversations.
@Suite struct GuestTests {
    private let world = World()
    private let client: TestClient
    private let accounts = ["alice", "bob", "dan", "mallory"]

    init() {
        client = world.n1.connect()
        for user in accounts { _ = client.ask(addition(of: user)) }
    }

    @Test func `users that do not exist are not added`() {
        let mallory = world.n1.connect(account("mallory"))
        let refusal = "ERR 404 User not found"
        #expect(mallory.ask("CREATE c mallory,alice,nobody") == [refusal])
        #expect(mallory.ask("CREATE c mallory,alice") == ["OK"])
        #expect(mallory.ask("INVITE c mallory nobody") == [refusal])
        #expect(mallory.ask("INVITE c mallory bob") == ["OK"])
        #expect(mallory.ask("CREATE d mallory") == ["OK"])
        _ = client.ask("ACCOUNT REMOVE \(address(of: "dan")) dan")
        #expect(mallory.ask("INVITE c mallory dan") == [refusal])
    }

    @Test func `whoever has no account may add anybody`() {
        #expect(client.ask("CREATE c mallory,alice,nobody") == ["OK"])
        let app = world.n1.connect(.user(UserID(checked: "mallory"), signIn: nil))
        #expect(app.ask("INVITE c mallory somebody") == ["OK"])
        for number in 0..<60 { #expect(app.ask("CREATE c\(number) mallory,alice") == ["OK"]) }
    }

    /// Has mallory add alice to as many conversations as may be, and returns the client.
    private func flood() -> TestClient {
        let mallory = world.n1.connect(account("mallory"))
        for number in 0..<50 {
            #expect(mallory.ask("CREATE spam\(number) mallory,alice") == ["OK"])
        }
        return mallory
    }

    private let refusal =
        "ERR 429 This user has not answered 50 conversations to which strangers have added them; "
        + "only people whom they know can add them now"

    @Test func `nobody is added to more than 50 conversations by people they do not know`() {
        let (mallory, dan) = (flood(), world.n1.connect(account("dan")))
        #expect(mallory.ask("CREATE spam50 mallory,alice") == [refusal])
        #expect(dan.ask("CREATE d dan,alice,bob") == [refusal])
        #expect(dan.ask("CREATE d dan,bob") == ["OK"])
        #expect(dan.ask("INVITE d dan alice") == [refusal])
        // A request that was not answered is repeated.
        #expect(mallory.ask("CREATE spam49 mallory,alice") == ["OK"])
        #expect(client.ask("LEAVECHAT spam7 alice") == ["OK"])
        #expect(dan.ask("INVITE d dan alice") == ["OK"])
        #expect(dan.ask("INVITE d dan alice") == ["OK"])
        #expect(mallory.ask("CREATE spam50 mallory,alice") == [refusal])
    }

    @Test func `whoever was answered adds the user all the same`() {
        let alice = world.n1.connect(account("alice"))
        let bob = world.n1.connect(account("bob"))
        #expect(bob.ask("CREATE b bob,alice,dan") == ["OK"])
        _ = alice.ask("SEND b alice id=a1 hi", "DELETE b a1 alice for=everyone")
        // What alice has sent is far back in a long history.
        for number in 0..<300 { _ = client.ask("SEND b bob id=m\(number) hi") }
        let (mallory, dan) = (flood(), world.n1.connect(account("dan")))
        #expect(bob.ask("CREATE b2 bob,alice") == ["OK"])
        #expect(dan.ask("CREATE d dan,alice") == ["OK"])
        #expect(mallory.ask("CREATE spam50 mallory,alice") == [refusal])
        #expect(alice.ask("CREATE a alice,mallory") == ["OK"])
        #expect(alice.ask("LEAVECHAT a alice") == ["OK"])
        #expect(mallory.ask("CREATE spam50 mallory,alice") == [refusal])
        _ = alice.ask("SEND spam3 alice id=a2 stop")
        #expect(mallory.ask("CREATE spam50 mallory,alice") == ["OK"])
    }

    @Test func `conversations that a user has made are none of strangers`() {
        let alice = world.n1.connect(account("alice"))
        for number in 0..<60 { _ = alice.ask("CREATE a\(number) alice,bob") }
        let mallory = world.n1.connect(account("mallory"))
        #expect(mallory.ask("CREATE c mallory,alice") == ["OK"])
        // Bob has not answered, and alice has added him to all of them.
        #expect(mallory.ask("CREATE d mallory,bob") == [refusal])
        let bob = world.n1.connect(account("bob"))
        _ = bob.ask("SEND a5 bob id=b hi")
        #expect(mallory.ask("CREATE d mallory,bob") == ["OK"])
    }
}

/// The same where the answers are with other nodes, and where they cannot be reached.
@Suite struct GuestClusterTests {
    private let world = World(replicas: .count(1), mayBlock: true)

    private func ask(_ line: String, _ client: TestClient, _ other: TestNode) -> [String] {
        var replies = client.ask(line)
        for _ in 0..<8 where replies.isEmpty {
            world.settle(world.n1, other)
            replies += client.heard()
        }
        return replies
    }

    @Test func `each node knows who has an account, and whom they know`() {
        let other = world.join("n3")
        world.live(milliseconds: 3_000, world.n1, other)
        let operators = world.n1.connect()
        for user in ["alice", "bob", "mallory"] {
            #expect(ask(addition(of: user), operators, other).last?.hasPrefix("OK") == true)
        }
        for (index, node) in [world.n1, other].enumerated() {
            let mallory = node.connect(account("mallory"))
            for number in 0..<8 {
                let chat = "c\(index)-\(number)"
                #expect(
                    ask("CREATE \(chat) mallory,user\(number)", mallory, other)
                        == ["ERR 404 User not found"])
                #expect(ask("CREATE \(chat) mallory,alice,bob", mallory, other) == ["OK"])
            }
        }
        for number in 0..<34 {
            #expect(ask("CREATE d\(number) mallory,alice", operators, other) == ["OK"])
        }
        for node in [world.n1, other] {
            let mallory = node.connect(account("mallory"))
            let reply = ask("CREATE e mallory,alice", mallory, other).last
            #expect(reply?.hasPrefix("ERR 429 ") == true)
            #expect(ask("CREATE f mallory,bob", mallory, other) == ["OK"])
        }
    }

    @Test func `where not all can be asked, whoever is added is added`() {
        let other = world.join("n3")
        world.live(milliseconds: 3_000, world.n1, other)
        let operators = world.n1.connect()
        for user in ["alice", "mallory"] { _ = ask(addition(of: user), operators, other) }
        let chats = (0..<40).map { "c\($0)" }
        let here = chats.filter { chat in
            world.n1.connect().ask("OWNERS \(chat)").contains { $0.contains("owners=n1") }
        }
        world.live(milliseconds: 8_000, world.n1)
        let mallory = world.n1.connect(account("mallory"))
        var replies = mallory.ask("CREATE \(here.first ?? "") mallory,alice,nobody")
        for _ in 0..<40 where replies.isEmpty {
            world.live(milliseconds: 100, world.n1)
            replies += mallory.heard()
        }
        #expect(replies == ["OK"])
    }
}

private func account(_ user: String) -> AuthPolicy {
    .user(
        UserID(checked: user),
        signIn: DeviceSignIn(
            address: AddressID(checked: address(of: user)), id: SignInID(checked: "s"),
            began: HybridTimestamp(milliseconds: 1)))
}

private func addition(of user: String) -> String {
    "ACCOUNT ADD \(address(of: user)) \(user) email=\(user)@example.org password=hash"
}

private func address(of user: String) -> String { "address-of-\(user)" }
