/// All verbs of the protocol, in the order in which `HELP` prints them.
///
/// A verb is added by one row, which specifies the syntax of its line and creates the request.
extension Verb {
    public static let all: [Verb] = chat + own + devices + files + accounts + cluster

    private static let cluster: [Verb] = [
        Verb(
            "HELP", .operates, optional: ["<verb>|limits", "<word>"],
            example: "HELP PING",
            about: "Tells how each verb, or this one, is written; or what is limited, and how. "
                + "The whole protocol, with examples, is cluster/PROTOCOL.md."
        ) { words throws(LineError) in .help(words.help()) },
        Verb(
            "AUTH", .operates, ["<secret>"],
            example: "AUTH sesame",
            about:
                "Signs in with the cluster's key, or, where the node was started with --users, as "
                + "the user of an access token; a port beyond this machine asks for it first."
        ) { words throws(LineError) in .auth(try words.secret(0)) },
        Verb("PING", .operates, example: "PING", about: "Answers pong.") { _ throws(LineError) in
            .ping
        },
        Verb(
            "STATUS", .operates,
            example: "STATUS",
            about: "Tells how this node is doing, and whether it may be stopped (safe=true)."
        ) { _ throws(LineError) in .status },
        Verb(
            "READY", .operates,
            example: "READY",
            about: "Answers OK where this node should get requests, else 503 with why not."
        ) { _ throws(LineError) in .ready },
        Verb(
            "METRICS", .operates, example: "METRICS",
            about: "Tells of this node in numbers, as Prometheus reads them."
        ) { _ throws(LineError) in .metrics },
        Verb(
            "MEMBERS", .operates,
            example: "MEMBERS", about: "Tells of every member of the cluster, as this node sees it."
        ) { _ throws(LineError) in .members },
        Verb(
            "SHARDS", .operates,
            example: "SHARDS",
            about: "Shows who owns each shard, in order, and what is held of it here."
        ) { _ throws(LineError) in .shards },
        Verb(
            "OWNERS", .operates, ["<conversation>"],
            example: "OWNERS lunch",
            about: "Shows the shard of a conversation, whether it exists or not."
        ) { words throws(LineError) in .owners(try words.name(0)) },
        Verb(
            "DIGEST", .operates, optional: ["<shard>"],
            example: "DIGEST 0",
            about: "Shows a hash of each shard held here; equal lines mean equal content."
        ) { words throws(LineError) in
            .digest(words.argumentCount > 0 ? try words.shard(0) : nil)
        },
        Verb(
            "VECTOR", .operates, ["<shard>"],
            example: "VECTOR 0", about: "Shows which changes of each replica a shard holds."
        ) { words throws(LineError) in .vector(try words.shard(0)) },
        Verb(
            "SET", .operates, options: [.ack, .strict],
            example: "SET ack=all strict=true",
            about: "Sets on how many owners this connection's writes wait to be stored, and "
                + "whether one that is on fewer after a second is answered 504."
        ) { words throws(LineError) in .set(try Request.SetLevel(words)) },
        Verb(
            "WAIT", .operates, ["<replicas>", "<milliseconds>"],
            example: "WAIT 1 1000",
            about: "Waits until this connection's writes are stored on that many owners."
        ) { words throws(LineError) in .wait(try Request.Wait(words)) },
        Verb(
            "TOKEN", .operates,
            example: "TOKEN",
            about: "Gives a word that stands for all that this connection has seen.",
            endpoints: [
                HTTPEndpoint(.get, "token", "getToken", in: .events, .status(["token"]))
            ]
        ) { _ throws(LineError) in .token },
        Verb(
            "SINCE", .operates, ["<token>"],
            example: "SINCE AYi5RcAAAAAAAAAAAAAAAAAAAD2KdOc",
            about: "Shows this connection nothing older than a token, which any node may have made."
        ) { words throws(LineError) in .since(try words.token(0)) },
        Verb(
            "BLOCK", .operates, ["<node>"], optional: [choices(of: BlockDirection.self)],
            example: "BLOCK n2 in",
            about: "Cuts this node off from another, as a cut cable would; for tests."
        ) { words throws(LineError) in .block(try Request.Block(words)) },
        Verb(
            "UNBLOCK", .operates, ["<node>|*"], example: "UNBLOCK *",
            about: "Ends what BLOCK did to a node, or to all."
        ) { words throws(LineError) in .unblock(try words.nameOrAll(0)) },
        Verb(
            "JOIN", .operates, ["<addr>"],
            example: "JOIN 127.0.0.1:7102",
            about: "Joins the cluster of the node at this gossip address."
        ) { words throws(LineError) in .join(try words.address(0)) },
        Verb(
            "LEAVE", .operates,
            example: "LEAVE", about: "Hands over all that this node holds, then stops it for good."
        ) { _ throws(LineError) in .leave },
        Verb(
            "FORGET", .operates, ["<node>"],
            example: "FORGET n9",
            about: "Gives up a dead node that is not coming back; others take over its shards."
        ) { words throws(LineError) in .forget(try words.name(0)) },
        Verb(
            "BACKUP", .operates, ["<file>"],
            example: "BACKUP friday",
            about: "Copies all that this node holds into a file that is not there yet: a name, in "
                + "backups/ of its data folder, or an absolute path that ends in "
                + BackupFile.endings.joined(separator: ", ") + "."
        ) { words throws(LineError) in .backup(try words.backupFile(0)) },
        Verb(
            "SCRUB", .operates,
            example: "SCRUB",
            about: "Checks all that this node holds, mends what is damaged, and rids its files of "
                + "deleted texts."
        ) { _ throws(LineError) in .scrub },
        Verb("SHUTDOWN", .operates, example: "SHUTDOWN", about: "Stops this node cleanly.") {
            _ throws(LineError) in
            .shutdown
        },
    ]
}
