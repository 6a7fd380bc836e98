import Manual

extension NodeCommand {
    /// The help of `grapevine node`, and the options that it takes.
    package static let help = CommandHelp(
        "node", "runs one node of a cluster",
        synopsis: [
            "grapevine node --name <node> --data <folder> --gossip <host:port> --admin <host:port>",
            "[--http <host:port> --jwt-key <file> [--origin <url>[,…]] [--web <url>[,…]]",
            "[--tls-cert <file> --tls-key <file> | --http-behind-proxy]] [--users]",
            "[--jwt-audience <name>] [--jwt-issuer <name>] [--jwt-user-claim <claim>]",
            "[--jwt-hours 24] [--sign-up open|closed]",
            "[--push-key <file> [--push-url <url>] [--push-contact <url>]]",
            "[--ops <host:port> [--ops-web <url>[,…]]] [--host-names <host>[,…]]",
            "[--advertise <host>]",
            "[--join <gossip host:port>[,…] [--bootstrap]]",
            "[--cluster <name>] [--replicas 3|all] [--shards 64] [--ack local|majority|all]",
            "[--edit-window 15m] [--evict-after 10m|never] [--max-offset 500ms]",
            "[--key-file <file>] [--admin-key-file <file>] [--faults] [--accept-data-loss]",
            "[--log error|warn|info|debug] [--core-dumps]",
        ],
        "Runs one node. Once it serves it prints: ready name=… gossip=… admin=… http=… ops=…",
        addresses + members + rules + keysAndFaults)

    private static let addresses = [
        CommandHelp.Option(
            "--name", .text("node"), "this node's name: 1-64 of A-Z a-z 0-9 _ . : @ -"),
        CommandHelp.Option(
            "--data", .folder,
            "the folder that it alone keeps its data in; made where it is missing"),
        CommandHelp.Option(
            "--gossip", .text("host:port"),
            "the IP address and port for other nodes; port 0 asks for a free one"),
        CommandHelp.Option(
            "--admin", .text("host:port"), "the same for clients, with nc for instance"),
        CommandHelp.Option(
            "--http", .text("host:port"),
            "the same for apps, over HTTP and WebSockets; beyond this machine with --tls-cert or "
                + "--http-behind-proxy only"),
        CommandHelp.Option(
            "--tls-cert", .file,
            "the certificate that --http shows, and those that sign it, in PEM; SIGHUP has the "
                + "node read it again"),
        CommandHelp.Option(
            "--tls-key", .file,
            "the key of that certificate, in PEM; its user alone may read it; read again with it"),
        CommandHelp.Option(
            "--jwt-key", .file,
            "the keys with which access tokens of apps are signed, a JSON Web Key Set with HS256, "
                + "RS256, ES256 or EdDSA; its user alone may read it; SIGHUP has the node read it "
                + "again"),
        CommandHelp.Option(
            "--jwt-audience", .text("name"),
            "who this cluster is for the issuer of those tokens: their aud has to name it; without "
                + "it a token with an aud is refused"),
        CommandHelp.Option(
            "--jwt-issuer", .text("name"), "the issuer of those tokens: their iss has to be this"),
        CommandHelp.Option(
            "--jwt-user-claim", .text("claim"),
            "the claim of those tokens with the user's name (default: sub)"),
        CommandHelp.Option(
            "--jwt-hours", .text("n"),
            "the most hours from now to the end of such a token (default: 24)"),
        CommandHelp.Option(
            "--sign-up", .words(["open", "closed"]),
            "whether whoever reaches --http may sign up (open), or only grapevine user adds "
                + "accounts"),
        CommandHelp.Option(
            "--user-rate", .text("n"),
            "the most requests a second of one user to --http, ten seconds' worth of them at once; "
                + "0 for any number (default: 200)"),
        CommandHelp.Option(
            "--address-rate", .text("n"), "the same for one address (default: 2000)"),
        CommandHelp.Option(
            "--upload-day", .text("n"),
            "the most MiB of files that one user uploads to this node in a day; 0 for any number "
                + "(default: 1024)"),
        CommandHelp.Option(
            "--users", .none,
            "lets AUTH take an access token on the line protocol: the connection is then its "
                + "user's, and no operator's"),
        CommandHelp.Option(
            "--http-behind-proxy", .none,
            "lets --http listen beyond this machine without TLS, for a proxy that speaks it"),
        CommandHelp.Option(
            "--origin", .text("url,…"),
            "the sites whose pages may send requests to --http, such as https://chat.example.org"),
        CommandHelp.Option(
            "--web", .text("url,…"),
            "the addresses at which browsers reach --http of this node, first, and of others: the "
                + "page of one goes on with another; members say theirs to each other"),
        CommandHelp.Option(
            "--push-key", .file,
            "a secret of 32 bytes or more, the same on all nodes: devices are told of their "
                + "notifications, by Web Push where their token is a browser's subscription; its "
                + "user alone may read the file"),
        CommandHelp.Option(
            "--push-url", .text("url"),
            "the server that is told of the notifications of all other devices, signed with that "
                + "secret"),
        CommandHelp.Option(
            "--push-contact", .text("url"),
            "whom push services may write to, as mailto:… or https://…"),
        CommandHelp.Option(
            "--ops", .text("host:port"),
            "the same for probes and collectors of figures, over HTTP: /healthz, /readyz, "
                + "/metrics and the page /cluster; none of them shows users' data, and none needs "
                + "a key"),
        CommandHelp.Option(
            "--ops-web", .text("url,…"),
            "the addresses at which browsers reach --ops of this node, first, and of others; "
                + "/cluster shows these and those that the members say"),
        CommandHelp.Option(
            "--host-names", .text("host,…"),
            "the names with a dot by which clients reach --ops, and --http with --web, beside "
                + "those of --ops-web, --web and --advertise; others are answered 421, since a "
                + "page elsewhere may have its name lead here"),
        CommandHelp.Option(
            "--advertise", .text("host"),
            "the host that others reach both ports at: a name or an IP address (the one that is "
                + "listened at); names are looked up at each dial"),
    ]

    private static let members = [
        CommandHelp.Option(
            "--join", .text("host:port,…"),
            "members of a cluster to join; without it an empty folder founds one"),
        CommandHelp.Option(
            "--bootstrap", .none,
            "with the same --join list on every node, itself included: where all of them are "
                + "empty, the node at the first address founds the cluster"),
        CommandHelp.Option(
            "--cluster", .text("name"), "the cluster's name, fixed by its first node (grapevine)"),
        CommandHelp.Option(
            "--replicas", .text("1-100|all"),
            "how many nodes hold each conversation: 1-100 or all, fixed by the cluster's first "
                + "node (3)"),
        CommandHelp.Option(
            "--shards", .text("count"),
            "how many shards the cluster has, fixed by its first node (64)"),
    ]

    private static let rules = [
        CommandHelp.Option(
            "--ack", .words(["local", "majority", "all"]),
            "how many owners an OK waits for, at most a second (majority)"),
        CommandHelp.Option(
            "--edit-window", .text("duration"),
            "how long after its sending a message may be edited (15m)"),
        CommandHelp.Option(
            "--evict-after", .text("duration|never"),
            "how long a dead node keeps its shards before others take them; only nodes that hear "
                + "more than half of the members decide it (10m)"),
        CommandHelp.Option(
            "--max-offset", .text("duration"),
            "how far this node's clock may be from the others'; beyond that it refuses writes "
                + "(500ms)"),
    ]

    private static let keysAndFaults = [
        CommandHelp.Option(
            "--key-file", .file,
            "the cluster's key, the same file on every node: openssl rand -hex 32; its user alone "
                + "may read it; nodes encrypt and prove it to each other, and an address beyond "
                + "this machine needs it; SIGHUP has the node read it again"),
        CommandHelp.Option(
            "--admin-key-file", .file,
            "what AUTH takes beyond this machine in place of the cluster's key, so that an "
                + "operator of a node cannot act as a node"),
        CommandHelp.Option(
            "--faults", .none, "lets BLOCK cut this node off from others, for tests"),
        CommandHelp.Option(
            "--accept-data-loss", .none,
            "serves what is left where the disk has lost acknowledged writes and no other node "
                + "holds them; for one start"),
        CommandHelp.Option(
            "--log", .words(["error", "warn", "info", "debug"]),
            "what is logged to standard error (info)"),
        CommandHelp.Option(
            "--core-dumps", .none,
            "lets a crash leave a core dump; deleted texts and keys may be in it"),
    ]
}
