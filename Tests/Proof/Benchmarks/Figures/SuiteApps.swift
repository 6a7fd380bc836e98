import LineClient
import NetworkIO

/// The rows of the port for apps, but for those of sends.
extension Suite {
    static let sockets = 1_000
    private static let encryptedSockets = 500
    private static let events = 50
    /// The time in which a node releases the memory of what it has answered, in milliseconds.
    private static let restMilliseconds: UInt64 = 1_000
    /// The files of a run, and the median of their times is its figure.
    private static let files = 3

    func measureFanOut() async throws(BenchError) {
        try await withCluster(of: 1, conversations: 1) { (cluster) async throws(BenchError) in
            let fanOut = FanOut(Self.sockets, at: cluster.nodes[0])
            defer { fanOut.close() }
            let before = try resident(cluster.nodes[0])
            try await fanOut.open()
            await Stage.pause(milliseconds: Self.restMilliseconds)
            let after = try resident(cluster.nodes[0])
            record(.socketMemory, Double(after - before) / Double(Self.sockets))
            let sender = try await cluster.connect(cluster.nodes[0])
            defer { sender.close() }
            let text = String(repeating: "0123456789", count: SendLoad.textBytes / 10)
            let line = "SEND \(SendLoad.conversation(0)) alice \(text)"
            var latencies = Latencies()
            for _ in 0..<Self.events {
                latencies.record(
                    nanoseconds: try await fanOut.deliver(line, from: sender, of: cluster))
            }
            record(.socketEventLast, latencies.milliseconds(50))
        }
    }

    func measureFiles() async throws(BenchError) {
        try await withCluster(of: 1, conversations: 1) { (cluster) async throws(BenchError) in
            let client = try BlockingConnection(to: cluster.nodes[0].http)
            var (writes, reads, uploads, downloads) = (
                [Double](), [Double](), [Double](), [Double]()
            )
            for number in 0..<Self.files {
                let disk = try DiskStream(in: cluster.folder) { Stage.loop.nanoseconds }
                writes.append(disk.writeSeconds)
                reads.append(disk.readSeconds)
                uploads.append(try upload(number, over: client))
                downloads.append(try download(number, over: client))
            }
            for (row, seconds) in [
                (Row.diskWrite, writes), (.diskRead, reads), (.upload, uploads),
                (.download, downloads),
            ] {
                record(row, Double(DiskStream.bytes) / 1e6 / Spread(seconds).median)
            }
        }
    }

    private func resident(_ node: LocalNode) throws(BenchError) -> Int {
        guard let process = node.process else { throw BenchError("\(node.name) has ended") }
        return try NodeMemory(of: process).resident
    }

    private func head(_ method: String, _ number: Int, _ more: String) -> [UInt8] {
        let path = "/v1/conversations/\(SendLoad.conversation(0))/blobs/file\(number)"
        return Array(
            ("\(method) \(path) HTTP/1.1\r\nHost: a\r\n"
                + "Authorization: Bearer \(AppIdentity.token(of: "alice"))\r\n\(more)\r\n").utf8)
    }

    /// - Returns: the time until the file is on disk, in seconds.
    private func upload(_ number: Int, over client: BlockingConnection) throws(BenchError) -> Double
    {
        var random = SeededRandom(seed: UInt64(number))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(DiskStream.bytes)
        // A node stores equal parts once.
        while bytes.count < DiskStream.bytes {
            withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
        }
        let request = head("PUT", number, "Content-Length: \(bytes.count)\r\n") + bytes
        let began = Stage.loop.nanoseconds
        try client.send(request)
        let answer = try client.readAnswer()
        guard answer.head.hasPrefix("HTTP/1.1 200 ") else { throw BenchError(answer.head) }
        return Double(Stage.loop.nanoseconds - began) / 1e9
    }

    private func download(
        _ number: Int, over client: BlockingConnection
    ) throws(BenchError) -> Double {
        let began = Stage.loop.nanoseconds
        try client.send(head("GET", number, ""))
        let answer = try client.readAnswer()
        guard answer.head.hasPrefix("HTTP/1.1 200 "), answer.bodyBytes == DiskStream.bytes else {
            throw BenchError("a download of \(answer.bodyBytes) bytes: \(answer.head)")
        }
        return Double(Stage.loop.nanoseconds - began) / 1e9
    }

    func measureHandshakes() async throws(BenchError) {
        let folder = try Files.temporaryFolder()
        defer { removeOrSay(folder) }
        let options = try BenchCertificate.options(in: folder)
        try await withCluster(of: 1, conversations: 1, options: options) {
            (cluster) async throws(BenchError) in
            let (node, address) = (cluster.nodes[0], cluster.nodes[0].http)
            let before = try resident(node)
            let sockets = try EncryptedSockets(Self.encryptedSockets, to: address)
            await Stage.pause(milliseconds: Self.restMilliseconds)
            let bytes = try resident(node) - before
            sockets.close()
            record(.encryptedSocketMemory, Double(bytes) / Double(Self.encryptedSockets))
            record(.handshakes, try HandshakeLoad.run(at: address, seconds: plan.seconds))
        }
    }
}
