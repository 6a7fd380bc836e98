import CRDT
import Chat
import LineProtocol
import Node
import NodeKit
import Testing
import Wire

@testable import Session

/// Keys that admit a session which sends one of two secrets.
private actor TestKeys: AuthKeys {
    static let secret = String(repeating: "s", count: 32)
    static let other = String(repeating: "o", count: 32)

    private let executor = InlineExecutor()
    private var admitted: [UInt64] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func admission(by secret: String, as session: UInt64) -> SignedIn? {
        if secret.hasPrefix("user-") {
            return .asUser(UserID(checked: String(secret.dropFirst("user-".count))), signIn: nil)
        }
        guard [Self.secret, Self.other].contains(secret) else { return nil }
        assumeIsolated { $0.admitted.append(session) }
        return .asOperator
    }

    nonisolated var sessions: [UInt64] { assumeIsolated { $0.admitted } }
}

@Suite struct SignInTests {
    private let world = World()
    private let keys = TestKeys()
    private let secret = TestKeys.secret

    @Test func `a user of the cluster's own name reads nothing of the cluster's`() {
        let client = world.n1.connect(.closed(keys))
        #expect(client.ask("AUTH user-\(Mutation.cluster)") == ["OK"])
        for line in ["KEYS", "ACCOUNTS", "DEVICE HOLDERS token=t"] {
            #expect(client.ask(line) == [LineError.operatorsOnly.description])
            #expect(client.ask(line + " times=exact") == [LineError.operatorsOnly.description])
        }
    }

    @Test func `who signed in as a user acts as no other, and not as an operator`() {
        let client = world.n1.connect(.closed(keys))
        #expect(client.ask("AUTH user-alice") == ["OK"])
        // Those that name a user, in the examples of their rows.
        let ofConnections = ["HELP", "AUTH", "PING", "SET", "WAIT", "TOKEN", "SINCE", "UNWATCH"]
        for verb in Verb.all where !ofConnections.contains(verb.name) {
            for user in ["alice", "mallory"] {
                let example = verb.example.split(separator: " ").map { word in
                    ["alice", "bob", "carol", "alice,bob"].contains(word) ? user : String(word)
                }.joined(separator: " ")
                let isOfUsers = verb.usage.contains("<user>") || verb.usage.contains("<user>[")
                let reply = client.ask(example).last ?? ""
                let expected: LineError? =
                    !isOfUsers ? .operatorsOnly : user == "alice" ? nil : .otherUser
                if let expected {
                    #expect(reply == expected.description, "\(example)")
                } else {
                    #expect(reply != LineError.otherUser.description, "\(example): \(reply)")
                    #expect(reply != LineError.operatorsOnly.description, "\(example): \(reply)")
                }
            }
        }
        let system = "SEND lunch alice type=system bob has left"
        #expect(client.ask(system) == [LineError.operatorsOnly.description])
        #expect(client.ask("SEED", "PING").last == "OK pong")
        #expect(client.ask("AUTH user-bob") == [LineError.otherUser.description])
        #expect(client.ask("AUTH user-alice") == ["OK"])
        #expect(client.ask("AUTH \(secret)", "STATUS").last?.hasPrefix("OK") == true)
    }

    @Test func `nothing but HELP is answered to who has not signed in`() throws {
        let client = world.n1.connect(.closed(keys))
        for verb in Verb.all where !["HELP", "AUTH"].contains(verb.name) {
            let words: [String] = verb.usage.split(separator: " ").map { word in
                switch word {
                case "<milliseconds>", "<replicas>", "<shard>", "<number>": "1"
                case "<part>": "LPJNul-wow4m6Dsqxbning"
                case "<bytes>": "aGVsbG8"
                case "size=<bytes>": "size=0"
                case "id=<id>": "id=x"
                case "<addr>": "127.0.0.1:1"
                case "<token>": Token(of: [], cluster: RandomID(high: 1, low: 1)).text
                case "ack=local|majority|all": "ack=all"
                case "on|off": "on"
                case "through=<stamp>", "issued=<stamp>", "began=<stamp>":
                    word.prefix { $0 != "=" } + "=1"
                case "secret=…": "secret=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                case _ where word.hasSuffix("=…"): String(word.dropLast()) + "x"
                default: word.first == "<" ? "x" : String(word)
                }
            }.filter { !$0.hasPrefix("[") }
            let line = words.joined(separator: " ")
            #expect(client.ask(line) == ["ERR 401 Sign in first: AUTH <secret>"], "\(line)")
        }
        #expect(client.ask("HELP AUTH").last == "OK")
        #expect(!client.isFinished)
        #expect(world.n1.host.assumeIsolated { $0.ending } == nil)
        #expect(world.n1.connect().ask("HISTORY x x") == ["ERR 404 Conversation not found"])
    }

    @Test(arguments: [TestKeys.secret, TestKeys.other])
    func `either key signs in, and then everything is answered`(_ secret: String) {
        let client = world.n1.connect(.closed(keys))
        let replies = client.ask("PING", "AUTH \(secret)", "PING", "CREATE c alice,bob")
        #expect(replies == ["ERR 401 Sign in first: AUTH <secret>", "OK", "OK pong", "OK"])
        #expect(keys.sessions == [client.session.id])
    }

    @Test func `the third wrong secret is the last`() {
        let client = world.n1.connect(.closed(keys))
        #expect(client.ask("AUTH guess", "AUTH \(secret)x") == Array(repeating: wrong, count: 2))
        #expect(!client.isFinished)
        // A line that follows in the same read is not even examined.
        #expect(client.ask("AUTH \(secret.dropLast())", "AUTH \(secret)", "PING") == [wrong])
        #expect(client.isFinished)
        #expect(client.ask("AUTH \(secret)") == [])
        #expect(keys.sessions == [])
    }

    @Test func `a wrong secret does not undo a right one`() {
        let client = world.n1.connect(.closed(keys))
        #expect(client.ask("AUTH \(secret)", "AUTH guess", "PING") == ["OK", wrong, "OK pong"])
    }

    @Test func `who asks on and on without signing in is cut off`() {
        let client = world.n1.connect(.closed(keys))
        client.feed(String(repeating: "HELP PING\n", count: SignIn.unheardMax - 1))
        #expect(client.heard().count == 2 * (SignIn.unheardMax - 1))
        #expect(!client.isFinished)
        #expect(client.ask("PING", "PING") == ["ERR 401 Sign in first: AUTH <secret>"])
        #expect(client.isFinished)
    }

    @Test func `nonsense counts as well`() {
        let client = world.n1.connect(.closed(keys))
        client.feed(String(repeating: "FROBNICATE / now\r\n", count: 5_000))
        #expect(client.heard().count == SignIn.unheardMax)
        #expect(client.isFinished)
    }

    @Test func `an open door asks for nothing and says whether a secret is right`() {
        let client = world.n1.connect(.open(keys))
        #expect(client.ask("PING", "AUTH guess", "AUTH \(secret)") == ["OK pong", wrong, "OK"])
        #expect(client.ask("AUTH a", "AUTH b", "PING") == [wrong, wrong])
        #expect(client.isFinished)
    }

    @Test func `a node without a key says so`() {
        let client = world.n1.connect()
        let replies = client.ask("AUTH guess", "PING")
        #expect(replies == ["ERR 403 This node has no key, and asks for none", "OK pong"])
    }

    @Test func `who is turned away still hears what was asked before`() {
        let client = world.n1.connect(.open(keys))
        #expect(client.ask("CREATE c alice,bob") == ["OK"])
        world.n1.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice id=m hello")
        client.session.assumeIsolated { $0.turnAway(.signInLate) }
        #expect(client.heard() == [])
        world.n1.turn()
        world.n1.complete()
        #expect(client.heard().map { $0.prefix(7) } == ["OK id=m", "ERR 401"])
        #expect(client.isFinished)
    }

    private let wrong = "ERR 401 Wrong secret"
}
