import LineClient
import NetworkIO

/// The largest state that one user, alice, has within the limits, and the requests for it.
@Stage final class WidestState {
    /// The requests whose answers are large, or for which much has to be read.
    nonisolated static let lines = [
        "HISTORY long alice limit=1000", "HISTORY long alice limit=1000 bytes=1048576",
        "EDITS edited m alice", "PINNED pinned alice", "ACTIONS alice",
        "ACTIONS alice limit=50", "CHATS alice", "CHATS alice limit=50", "CHATS alice find=nowhere",
        "CHATS hidden-from", "UNREAD alice", "CHAT wide0 alice", "MARKS wide0 alice",
        "CHANGES wide0 alice limit=100",
        "NOTIFICATIONS alice phone", "NOTIFICATIONS alice phone limit=50", "BLOCKED alice",
        "DEVICES alice", "HISTORY wide0 alice limit=1000", "WATCH alice", "UNWATCH",
        "PROFILE alice name=another", "SEND wide0 alice hello", "READ long alice",
        "CREATE \(wide("another")) title=\"As wide\"", "DIGEST", "METRICS",
    ]

    nonisolated static let paths = [
        "conversations/long/messages?limit=1000", "conversations/wide0/messages?limit=1000",
        "conversations/edited/messages/m/edits",
        "conversations/pinned/pins?limit=400", "items?limit=1000", "chats", "chats?limit=50",
        "unread", "devices/phone/notifications?limit=1000", "conversations/wide0/marks",
        "conversations/wide0", "blocks", "devices",
    ]

    private let cluster: LocalCluster
    private var connection: LineConnection?

    init(on cluster: LocalCluster) { self.cluster = cluster }

    /// The words of a conversation with as many participants as there may be.
    private nonisolated static func wide(_ id: String) -> String {
        "\(id) alice,\(others.joined(separator: ","))"
    }

    private nonisolated static let others = (0..<980).map { "user\($0)" }
    private nonisolated static let text = String(repeating: "x", count: 16_000)
    private nonisolated static let conversations = 300
    private nonisolated static let messages = 1_000

    func write() async throws(BenchError) {
        let number = 0..<Self.messages
        try await ask(many: ["DEVICE ADD alice phone token=t"])
        for chat in ["long", "edited", "pinned"] {
            try await ask(many: ["CREATE \(chat) alice,bob"])
        }
        try await ask(many: number.map { "SEND long bob id=m\($0) -- \(Self.text)" })
        try await ask(many: ["SEND edited alice id=m -- \(Self.text)"])
        try await ask(many: (0..<99).map { "EDIT edited m alice \(Self.text)\($0)" })
        let pins = 0..<400
        try await ask(many: pins.map { "SEND pinned bob id=m\($0) -- \(Self.text)" })
        try await ask(many: pins.map { "PIN pinned m\($0) alice" })
        let title = String(repeating: "t", count: 1_000)
        try await ask(many: (0..<4_000).map { "ACTION ADD alice id=i\($0) -- \(title)" })
        try await ask(many: (0..<500).map { "BLOCKUSER alice blocked\($0)" })
        let wide = (0..<Self.conversations).map { "wide\($0)" }
        try await ask(many: wide.map { "CREATE " + Self.wide($0) })
        try await ask(many: number.map { "SEND wide0 alice id=m\($0) hello" })
        // Each has read up to another message.
        try await ask(many: Self.others.indices.map { "READ wide0 user\($0) m\($0 + 10)" })
        // A history that its reader does not see.
        try await ask(many: ["CREATE flooded hidden-from,flooder", "BLOCKUSER hidden-from flooder"])
        for start in stride(from: 0, to: 20_000, by: 2_000) {
            let flood = start..<start + 2_000
            try await ask(many: flood.map { "SEND flooded flooder id=m\($0) hello" })
        }
    }

    /// - Returns: the size of the reply in bytes.
    func ask(_ line: String) async throws(BenchError) -> Int {
        let reply = try await cluster.ask(line, on: try await connected())
        guard reply.isOK else { throw BenchError("\(line.prefix(80)): \(reply.statusText)") }
        return reply.bytes.count
    }

    /// Sends a request over HTTP on a connection of its own.
    ///
    /// - Returns: the size of the answer's body in bytes.
    func get(_ path: String) throws(BenchError) -> Int {
        let connection = try BlockingConnection(to: cluster.nodes[0].http)
        let head = [
            "GET /v1/\(path) HTTP/1.1", "Host: bench", "Accept-Encoding: gzip",
            "Authorization: Bearer \(AppIdentity.token(of: "alice"))",
        ]
        try connection.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        let answer = try connection.readAnswer()
        guard answer.head.hasPrefix("HTTP/1.1 200 ") else {
            throw BenchError("/v1/\(path): \(answer.head.prefix { $0 != "\r\n" })")
        }
        return answer.bodyBytes
    }

    private func ask(many lines: [String]) async throws(BenchError) {
        let connection = try await connected()
        for start in stride(from: 0, to: lines.count, by: 200) {
            let some = Array(lines[start..<min(start + 200, lines.count)])
            for reply in try await cluster.askAll(some, on: connection) where !reply.isOK {
                throw BenchError("\(some[0].prefix(60))…: \(reply.statusText)")
            }
        }
    }

    private func connected() async throws(BenchError) -> LineConnection {
        if let connection { return connection }
        let made = try await cluster.connect(cluster.nodes[0])
        connection = made
        return made
    }
}
