import Gateway
import NetworkIO
import Node
import Placement
import Replication
import Testing
import Wire

@testable import Server

@Suite struct NodeCommandTests {
    private let least = [
        "--name", "n1", "--data", "d", "--gossip", "127.0.0.1:7101", "--admin", "127.0.0.1:0",
    ]

    @Test func `the least that is needed leaves the rest as documented`() throws {
        let command = try NodeCommand(least)
        #expect(command.name == NodeName("n1"))
        #expect(command.folder == "d")
        #expect(command.gossip.description == "127.0.0.1:7101")
        #expect(command.admin.description == "127.0.0.1:0")
        #expect(command.join == [])
        #expect(command.cluster == nil)
        #expect(command.shards == nil)
        #expect(command.replicas == nil)
        #expect(command.ackLevel == .majority)
        #expect(command.editWindowMilliseconds == 900_000)
        #expect(command.evictAfterMilliseconds == 600_000)
        #expect(command.maxOffsetMilliseconds == 500)
        #expect(command.keyFile == nil)
        #expect(!command.mayBlock)
        #expect(!command.mayDumpCore)
        #expect(!command.acceptsDataLoss)
        #expect(command.logLevel == .info)
    }

    @Test func `every option is read, also behind an equals sign`() throws {
        let command = try NodeCommand(
            least + [
                "--join=127.0.0.1:7102,[::1]:7103", "--cluster", "team", "--replicas", "all",
                "--shards", "16", "--ack=all", "--edit-window", "2s", "--evict-after", "30s",
                "--faults", "--log", "warn", "--core-dumps", "--max-offset", "2s",
                "--admin-key-file", "admin", "--accept-data-loss",
            ])
        #expect(command.join == ["127.0.0.1:7102", "[::1]:7103"])
        #expect(command.cluster == ClusterName("team"))
        #expect(command.shards == 16)
        #expect(command.ackLevel == .all)
        #expect(command.editWindowMilliseconds == 2_000)
        #expect(command.replicas == .all)
        #expect(command.evictAfterMilliseconds == 30_000)
        #expect(command.mayBlock)
        #expect(command.mayDumpCore)
        #expect(command.acceptsDataLoss)
        #expect(command.logLevel == .warn)
        #expect(command.maxOffsetMilliseconds == 2_000)
        #expect(command.adminKeyFile == "admin")
    }

    @Test func `pages may use the nodes that are named, and sites that are`() throws {
        let command = try NodeCommand(
            least + [
                "--web", "http://127.0.0.1:7301,https://b.example", "--origin", "https://a.example",
                "--ops-web=http://127.0.0.1:7401",
            ])
        #expect(
            command.webNodes.map(\.description) == ["http://127.0.0.1:7301", "https://b.example"])
        #expect(command.origins == ["https://a.example"])
        #expect(
            command.pageAddresses
                == PageAddresses(chat: "http://127.0.0.1:7301", cluster: "http://127.0.0.1:7401"))
        #expect(command.opsWebNodes.map(\.description) == ["http://127.0.0.1:7401"])
        let tooMany = (1...65).map { "http://a:\($0 + 8_000)" }.joined(separator: ",")
        for value in ["", "http://a/", "http://a,", "b.example", "*", tooMany] {
            for option in ["--web", "--ops-web"] {
                #expect(throws: UsageError.self) { try NodeCommand(least + [option, value]) }
            }
        }
    }

    @Test func `members may be told by name, and others what to dial`() throws {
        let command = try NodeCommand(
            least + [
                "--advertise", "n1.grapevine", "--join",
                "n1.grapevine:7101,n2.grapevine:7101,[::1]:7103", "--bootstrap",
            ])
        #expect(command.advertise == "n1.grapevine")
        #expect(command.isBootstrapping)
        #expect(
            command.join == ["n1.grapevine:7101", "n2.grapevine:7101", "[::1]:7103"])
        #expect(try NodeCommand(least).advertise == nil)
        #expect(try !NodeCommand(least).isBootstrapping)
        for host in ["10.0.0.3", "[fe80::1]"] {
            #expect(try NodeCommand(least + ["--advertise", host]).advertise == host)
        }
    }

    @Test(arguments: [("1", Replicas.count(1)), ("3", .count(3)), ("100", .count(100))])
    func `replicas are a number or all`(_ value: String, _ replicas: Replicas) throws {
        #expect(try NodeCommand(least + ["--replicas", value]).replicas == replicas)
    }

    @Test func `a dead node may keep its shards for ever`() throws {
        let command = try NodeCommand(least + ["--evict-after", "never"])
        #expect(command.evictAfterMilliseconds == nil)
        #expect(try NodeCommand(least + ["--evict-after=1.5m"]).evictAfterMilliseconds == 90_000)
    }

    @Test(arguments: [
        ("--name", "--name is missing"), ("--data", "--data is missing"),
        ("--gossip", "--gossip is missing"), ("--admin", "--admin is missing"),
    ])
    func `what is missing is named`(_ option: String, _ sentence: String) throws {
        let place = try #require(least.firstIndex(of: option))
        var words = least
        words.removeSubrange(place...place + 1)
        #expect(throws: UsageError(sentence)) { try NodeCommand(words) }
    }

    @Test(arguments: [
        (["--name", "n2"], "--name is given twice"),
        (["--log"], "--log needs a value"),
        (["extra"], "unexpected word: extra"),
        (["--bogus", "1"], "unknown option: --bogus"),
        (["--bogus"], "unknown option: --bogus"),
        (["--faults", "--faults"], "--faults is given twice"),
        (["--faults=no"], "--faults takes no value"),
        (["--shards", "0"], "--shards cannot be '0': 1-4096"),
        (["--shards", "4097"], "--shards cannot be '4097': 1-4096"),
        (["--shards", "x"], "--shards cannot be 'x': 1-4096"),
        (["--cluster", "a b"], "--cluster cannot be 'a b'"),
        (["--ack", "most"], "--ack cannot be 'most': local, majority or all"),
        (["--edit-window", "15"], "--edit-window cannot be '15': a number and ms, s, m or h"),
        (["--log", "loud"], "--log cannot be 'loud': error, warn, info or debug"),
        (["--replicas", "0"], "--replicas cannot be '0': 1-100 or all"),
        (["--replicas", "101"], "--replicas cannot be '101': 1-100 or all"),
        (["--replicas", "most"], "--replicas cannot be 'most': 1-100 or all"),
        (
            ["--evict-after", "10"],
            "--evict-after cannot be '10': a number and ms, s, m or h, or never"
        ),
        (
            ["--evict-after", "Never"],
            "--evict-after cannot be 'Never': a number and ms, s, m or h, or never"
        ),
        (["--key-file", ""], "--key-file cannot be '': a path"),
        (
            ["--max-offset=500"],
            "--max-offset cannot be '500': a number and ms, s or m, up to 2m"
        ),
        (["--bootstrap"], "--bootstrap needs --join: the same list on every node, this one in it"),
        (
            ["--advertise", "n1:7101"],
            "--advertise cannot be 'n1:7101': a host's name or IP address, no port"
        ),
        (
            ["--advertise", "10.0.0.300"],
            "--advertise cannot be '10.0.0.300': a host's name or IP address, no port"
        ),
        (["--join", "n1:0"], "--join cannot be 'n1:0': host:port, between commas"),
        (["--join", "nowhere"], "--join cannot be 'nowhere': host:port, between commas"),
        (
            ["--join", "127.0.0.1:7101,"],
            "--join cannot be '127.0.0.1:7101,': host:port, between commas"
        ),
    ])
    func `what makes no sense is refused in one sentence`(_ words: [String], _ sentence: String) {
        #expect(throws: UsageError(sentence)) { try NodeCommand(least + words) }
    }

    @Test(arguments: ["10.0.0.1:7101", "192.168.1.5:7101", "[2001:db8::1]:7101"])
    func `an address that is not loopback needs a key`(_ address: String) throws {
        let places = [("--gossip", address, "127.0.0.1:0"), ("--admin", "127.0.0.1:0", address)]
        for (option, gossip, admin) in places {
            let words = ["--name", "n1", "--data", "d", "--gossip", gossip, "--admin", admin]
            let sentence =
                "\(option) cannot be '\(address)': an address that is not loopback needs "
                + "--key-file, with the cluster's key: openssl rand -hex 32 makes one"
            #expect(throws: UsageError(sentence)) { try NodeCommand(words) }
            let command = try NodeCommand(words + ["--key-file", "key"])
            #expect(command.keyFile == "key")
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1:99999", ":", ""])
    func `what is no address is refused`(_ address: String) {
        #expect(throws: UsageError("--gossip cannot be '\(address)': host:port")) {
            try NodeCommand([
                "--name", "n1", "--data", "d", "--gossip", address, "--admin", "127.0.0.1:0",
            ])
        }
    }

    @Test func `a name is one of the protocol's`() {
        #expect(throws: UsageError("--name cannot be 'a b': 1-64 of A-Z a-z 0-9 _ . : @ -")) {
            try NodeCommand(["--name", "a b"] + least.dropFirst(2))
        }
        #expect(throws: UsageError("--data cannot be ''")) {
            try NodeCommand(["--data", "", "--name", "n1"] + least.dropFirst(4))
        }
    }
}
