import CRDT
import Gateway
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
    /// The address for apps; nil for none.
    package var http: SocketAddress?
    /// The file with the keys of access tokens; nil where nobody can sign in at that port.
    package var jwtKeyFile: String?
    /// What tokens have to say that are signed by one of those keys.
    private(set) var tokenRules = TokenRules()
    /// The file with the secret from which the keys of pushes are derived; nil where none are sent.
    package private(set) var pushKeyFile: String?
    /// The operator's server that is told of notifications; nil for none.
    package private(set) var pushURL: String?
    /// Whom push services may write to.
    private(set) var pushContact: PushContact?
    /// Whether whoever reaches the port for apps may sign up.
    package private(set) var isSignUpOpen = true
    /// The most requests a second of one user on that port; 0 for any number.
    package private(set) var userRate = 200
    /// The most requests a second from one address; 0 for any number.
    package private(set) var addressRate = 2_000
    /// The most bytes that one user uploads to this node in a day; 0 for any number.
    package private(set) var uploadBytesOfDay: UInt64 = 1 << 30
    /// Whether a proxy in front of the port for apps names the clients' addresses.
    package private(set) var isBehindProxy = false
    /// Whether an access token signs in on the line protocol, as its user.
    package var admitsUsers = false
    /// The files of the certificate that the port shows, and of its key; nil where it does not
    /// encrypt.
    package var tlsCertificate: String?
    package var tlsKey: String?
    /// The origins whose pages may send requests to that port.
    package var origins: Set<String> = []
    /// The addresses at which browsers reach the port for apps of this node, and of others.
    package private(set) var webNodes: [WebOrigin] = []
    /// The addresses at which browsers reach the port for operations of this node, and of others.
    package private(set) var opsWebNodes: [WebOrigin] = []
    /// The addresses of this node, which are the first of each.
    package var pageAddresses: PageAddresses {
        PageAddresses(
            chat: webNodes.first?.description ?? "", cluster: opsWebNodes.first?.description ?? "")
    }
    /// The names under which clients reach `ops`, and `http` where it has web nodes, beside those
    /// of the web nodes.
    package private(set) var hostNames: [String] = []
    /// The address for probes and the collectors of figures; nil for none.
    package var ops: SocketAddress?
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
    /// The greatest `--max-offset`: nodes execute clients' operations for ten minutes less twice
    /// the offset.
    private static let maxOffsetMax = Duration.seconds(120)
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

    /// Parses the words after `grapevine node`.
    package init(_ words: [String]) throws(UsageError) {
        let options = try Options(words, of: NodeCommand.help)
        name = try options.required("--name", "1-64 of A-Z a-z 0-9 _ . : @ -") { NodeName($0) }
        folder = try options.required("--data") { $0.isEmpty ? nil : $0 }
        keyFile = try options.optional("--key-file", "a path") { $0.isEmpty ? nil : $0 }
        adminKeyFile = try options.optional("--admin-key-file", "a path") { $0.isEmpty ? nil : $0 }
        gossip = try NodeCommand.address("--gossip", options)
        admin = try NodeCommand.address("--admin", options)
        try readHTTP(options)
        // Without users' data on it, the port needs no key.
        ops = try options.optional("--ops", "host:port") { SocketAddress($0) }
        opsWebNodes = try NodeCommand.webNodes("--ops-web", options)
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
        hostNames = try NodeCommand.hostNames(options) + [advertise].compactMap(\.self)
        isBootstrapping = options.has("--bootstrap")
        if isBootstrapping, join.isEmpty {
            throw UsageError(
                "--bootstrap needs --join: the same list on every node, this one in it")
        }
        cluster = try options.optional("--cluster") { ClusterName($0) }
        shards = try options.optional("--shards", "1-\(ClusterSettings.shardsReadMax)") { value in
            UInt16(value).flatMap { (1...ClusterSettings.shardsReadMax).contains($0) ? $0 : nil }
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
        let offset = try options.optional("--max-offset", "a number and ms, s or m, up to 2m") {
            Duration(lineValue: $0).flatMap { $0 <= NodeCommand.maxOffsetMax ? $0 : nil }
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

    private mutating func readPush(_ options: Options) throws(UsageError) {
        pushKeyFile = try options.optional("--push-key", "a path") { $0.isEmpty ? nil : $0 }
        pushURL = try options.optional("--push-url", "http:// or https://") {
            PushContact.isPlainAddress($0, ["http://", "https://"]) ? $0 : nil
        }
        let contact = try options.optional("--push-contact", "mailto: or https://") {
            PushContact($0)
        }
        pushContact = contact ?? PushContact(nil)
        guard pushKeyFile != nil || pushURL == nil && contact == nil,
            pushKeyFile == nil || http != nil
        else {
            throw UsageError(
                "--push-url and --push-contact need --push-key, and --push-key needs --http")
        }
    }

    private static func webNodes(
        _ name: String, _ options: Options
    ) throws(UsageError) -> [WebOrigin] {
        let form =
            "http:// or https://, a host in lower case and its port unless that is usual, "
            + "between commas"
        return try options.optional(name, form) { value in
            let words = value.split(separator: ",", omittingEmptySubsequences: false)
            let origins = words.compactMap { WebOrigin(String($0)) }
            let isValid =
                origins.count == words.count && words.count <= WebOrigin.countMax
                && words.allSatisfy { $0.utf8.count <= PageAddresses.bytesMax }
            return isValid ? origins : nil
        } ?? []
    }

    private static func hostNames(_ options: Options) throws(UsageError) -> [String] {
        try options.optional("--host-names", "names of hosts without ports, between commas") {
            let names = $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let areNames = names.allSatisfy { Endpoint($0 + ":1") != nil }
            return areNames && names.count <= WebOrigin.countMax ? names : nil
        } ?? []
    }

    private static func rate(_ name: String, _ options: Options) throws(UsageError) -> Int? {
        try options.optional(name, "a number up to 1000000") {
            Int($0).flatMap { (0...1_000_000).contains($0) ? $0 : nil }
        }
    }

    private mutating func readTokenRules(_ options: Options) throws(UsageError) {
        func text(_ name: String) throws(UsageError) -> String? {
            try options.optional(name, "a text") { $0.isEmpty ? nil : $0 }
        }
        tokenRules.audience = try text("--jwt-audience")
        tokenRules.issuer = try text("--jwt-issuer")
        if let claim = try text("--jwt-user-claim") { tokenRules.userClaim = claim }
        let hours = 1...TokenRules.hoursMax
        let limit = try options.optional("--jwt-hours", "a number up to \(hours.upperBound)") {
            Int($0).flatMap { hours.contains($0) ? $0 : nil }
        }
        if let limit { tokenRules.hours = limit }
        guard jwtKeyFile != nil || tokenRules == TokenRules() else {
            throw UsageError(
                "--jwt-audience, --jwt-issuer, --jwt-user-claim and --jwt-hours need --jwt-key")
        }
    }

    private mutating func readHTTP(_ options: Options) throws(UsageError) {
        http = try options.optional("--http", "host:port") { SocketAddress($0) }
        jwtKeyFile = try options.optional("--jwt-key", "a path") { $0.isEmpty ? nil : $0 }
        try readTokenRules(options)
        let origins = try options.optional("--origin", "https://host, between commas") { value in
            let origins = value.split(separator: ",", omittingEmptySubsequences: false)
            let isValid = origins.allSatisfy { origin in
                ["https://", "http://"].contains { origin.hasPrefix($0) && origin != $0 }
                    && origin.split(separator: "/").count == 2 && origin.last != "/"
            }
            return isValid ? Set(origins.map(String.init)) : nil
        }
        webNodes = try NodeCommand.webNodes("--web", options)
        self.origins = origins ?? []
        admitsUsers = options.has("--users")
        guard !admitsUsers || jwtKeyFile != nil || http != nil else {
            throw UsageError(
                "--users needs --http, where users sign in, or --jwt-key, with the keys of an "
                    + "app's own access tokens")
        }
        isBehindProxy = options.has("--http-behind-proxy")
        let isSignUpOpen = try options.optional("--sign-up", "open or closed") {
            ["open": true, "closed": false][$0]
        }
        self.isSignUpOpen = isSignUpOpen ?? true
        if let rate = try NodeCommand.rate("--user-rate", options) { userRate = rate }
        if let rate = try NodeCommand.rate("--address-rate", options) { addressRate = rate }
        if let mebibytes = try NodeCommand.rate("--upload-day", options) {
            uploadBytesOfDay = UInt64(mebibytes) << 20
        }
        try readPush(options)
        tlsCertificate = try options.optional("--tls-cert", "a path") { $0.isEmpty ? nil : $0 }
        tlsKey = try options.optional("--tls-key", "a path") { $0.isEmpty ? nil : $0 }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw UsageError("--tls-cert and --tls-key are given together or not at all")
        }
        guard let http, !http.isLoopback, tlsKey == nil, !isBehindProxy
        else { return }
        throw UsageError(
            "--http cannot be '\(http)': an address that is not loopback needs --tls-cert and "
                + "--tls-key, or --http-behind-proxy and a proxy in front of it that speaks TLS")
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
