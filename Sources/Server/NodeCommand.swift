import CRDT
import LineProtocol
import NetworkIO
import Node
import Placement
import Replication
import Wire

/// The options of `grapevine node`.
package struct NodeCommand: Sendable {
    package var name: NodeName
    package var folder: String
    package var gossip: SocketAddress
    package var admin: SocketAddress
    /// The host that others dial, where it is not the one at which the node listens.
    package var advertise: String?
    package var join: [String] = []
    package var isBootstrapping = false
    package var cluster: ClusterName?
    package var replicas: Replicas?
    package var shards: UInt16?
    package var ackLevel = Replication.AckLevel.majority
    package var editWindowMilliseconds: UInt64 = 15 * 60 * 1_000
    package var evictAfterMilliseconds: UInt64? = NodeOptions.evictAfterMillisecondsDefault
    package var maxOffsetMilliseconds = WallTime.maxOffsetMillisecondsDefault
    package var mayBlock = false
    /// Whether the node serves what is left where its disk has lost acknowledged writes.
    package var acceptsDataLoss = false
    /// The file with the cluster's key; without one the node uses loopback addresses only.
    package var keyFile: String?
    /// The file with the key that clients beyond loopback sign in with, in place of the cluster's.
    package var adminKeyFile: String?
    package var logLevel = LogLevel.info
    /// Whether a crash may leave a core dump, with messages and keys in it.
    package var mayDumpCore = false

    package static let usage = """
        usage: grapevine node --name <node> --data <folder> --gossip <host:port> --admin <host:port>
               [--advertise <host>] [--join <gossip host:port>[,…] [--bootstrap]]
               [--cluster <name>] [--replicas 3|all] [--shards 64] [--ack local|majority|all]
               [--edit-window 15m] [--evict-after 10m|never] [--max-offset 500ms]
               [--key-file <file>] [--admin-key-file <file>] [--faults] [--accept-data-loss]
               [--log error|warn|info|debug] [--core-dumps]

        Runs one node. Once it serves it prints: ready name=… gossip=… admin=…
          --name         this node's name: 1-64 of A-Z a-z 0-9 _ . : @ -
          --data         the folder that it alone keeps its data in; made where it is missing
          --gossip       the IP address and port for other nodes; port 0 asks for a free one
          --admin        the same for clients, with nc for instance
          --advertise    the host that others reach both ports at: a name or an IP address (the
                         one that is listened at); names are looked up at each dial
          --join         members of a cluster to join; without it an empty folder founds one
          --bootstrap    with the same --join list on every node, itself included: where all of
                         them are empty, the node at the first address founds the cluster
          --cluster      the cluster's name, fixed by its first node (grapevine)
          --replicas     how many nodes hold each conversation: 1-100 or all, fixed by the
                         cluster's first node (3)
          --shards       how many shards the cluster has, fixed by its first node (64)
          --ack          how many owners an OK waits for, at most a second (majority)
          --edit-window  how long after its sending a message may be edited (15m)
          --evict-after  how long a dead node keeps its shards before others take them; only nodes
                         that hear more than half of the members decide it (10m)
          --max-offset   how far this node's clock may be from the others'; beyond that it
                         refuses writes (500ms)
          --key-file     the cluster's key, the same file on every node: openssl rand -hex 32;
                         its user alone may read it; nodes encrypt and prove it to each other,
                         and an address beyond this machine needs it; SIGHUP has the node
                         read it again
          --admin-key-file  what AUTH takes beyond this machine in place of the cluster's key, so
                         that an operator of a node cannot act as a node
          --faults       lets BLOCK cut this node off from others, for tests
          --accept-data-loss  serves what is left where the disk has lost acknowledged writes and
                         no other node holds them; for one start
          --log          what is logged to standard error (info)
          --core-dumps   lets a crash leave a core dump; deleted texts and keys may be in it

        """

    private static let options: Set<String> = [
        "--name", "--data", "--gossip", "--admin", "--advertise", "--join", "--cluster",
        "--replicas", "--shards", "--ack", "--edit-window", "--evict-after", "--max-offset",
        "--key-file", "--admin-key-file", "--log",
    ]

    /// Parses the words after `grapevine node`.
    package init(_ words: [String]) throws(UsageError) {
        let options = try Options(
            words, known: NodeCommand.options,
            flags: ["--faults", "--bootstrap", "--core-dumps", "--accept-data-loss"])
        name = try options.required("--name", "1-64 of A-Z a-z 0-9 _ . : @ -") { NodeName($0) }
        folder = try options.required("--data") { $0.isEmpty ? nil : $0 }
        keyFile = try options.optional("--key-file", "a path") { $0.isEmpty ? nil : $0 }
        adminKeyFile = try options.optional("--admin-key-file", "a path") { $0.isEmpty ? nil : $0 }
        gossip = try NodeCommand.address("--gossip", options)
        admin = try NodeCommand.address("--admin", options)
        join =
            try options.optional("--join", "host:port, between commas") { value in
                let addresses = value.split(separator: ",", omittingEmptySubsequences: false)
                let isValid = addresses.allSatisfy { Endpoint(String($0)) != nil }
                return isValid ? addresses.map(String.init) : nil
            } ?? []
        advertise = try options.optional("--advertise", "a host's name or IP address, no port") {
            Endpoint($0 + ":1") == nil ? nil : $0
        }
        if advertise == nil, gossip.isUnspecified || admin.isUnspecified {
            let address = gossip.isUnspecified ? gossip : admin
            throw UsageError(
                "\(address) stands for every address of this machine: say which of them others "
                    + "are to dial, with --advertise <host>")
        }
        isBootstrapping = options.has("--bootstrap")
        if isBootstrapping, join.isEmpty {
            throw UsageError(
                "--bootstrap needs --join: the same list on every node, this one in it")
        }
        cluster = try options.optional("--cluster") { ClusterName($0) }
        shards = try options.optional("--shards") { value in
            UInt16(value).flatMap { (1...ClusterSettings.shardsMax).contains($0) ? $0 : nil }
        }
        replicas = try options.optional("--replicas", "1-100 or all") { Replicas($0) }
        let level = try options.optional("--ack", "local, majority or all") {
            Replication.AckLevel(rawValue: $0)
        }
        if let level { ackLevel = level }
        let window = try options.optional("--edit-window", "a number and ms, s, m or h") {
            Duration(lineValue: $0)
        }
        if let window { editWindowMilliseconds = window.wholeMilliseconds }
        let eviction = try options.optional(
            "--evict-after", "a number and ms, s, m or h, or never", Eviction.init)
        if let eviction { evictAfterMilliseconds = eviction.afterMilliseconds }
        let offset = try options.optional("--max-offset", "a number and ms, s, m or h") {
            Duration(lineValue: $0)
        }
        if let offset { maxOffsetMilliseconds = offset.wholeMilliseconds }
        mayBlock = options.has("--faults")
        acceptsDataLoss = options.has("--accept-data-loss")
        mayDumpCore = options.has("--core-dumps")
        let log = try options.optional("--log", "error, warn, info or debug") {
            LogLevel(rawValue: $0)
        }
        if let log { logLevel = log }
    }

    /// The value of `--evict-after`.
    private struct Eviction {
        /// Nil for never.
        let afterMilliseconds: UInt64?

        init?(_ text: String) {
            if text == "never" {
                afterMilliseconds = nil
            } else if let duration = Duration(lineValue: text) {
                afterMilliseconds = duration.wholeMilliseconds
            } else {
                return nil
            }
        }
    }

    /// Returns the address in an option; without a key only loopback addresses are allowed.
    private static func address(
        _ name: String, _ options: Options
    ) throws(UsageError) -> SocketAddress {
        let address = try options.required(name, "host:port") { SocketAddress($0) }
        guard address.isLoopback || options.has("--key-file") else {
            throw UsageError(
                "\(name) cannot be '\(address)': an address that is not loopback needs "
                    + "--key-file, with the cluster's key: openssl rand -hex 32 makes one")
        }
        return address
    }
}
