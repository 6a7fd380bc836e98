import Glibc
import LineClient
import NetworkIO

/// An orderly end while clients write: every acknowledged message must exist afterwards.
extension AttackRun {
    private static let writers = 50
    private static let inFlight = 64
    /// The limit of the time for an orderly end, in milliseconds.
    private static let endMillisecondsMax = 5_000.0

    func stopUnderLoad() async throws(BenchError) {
        guard command.wants("stop under load") else { return }
        let writes = AcknowledgedWrites()
        var writers: [LineConnection] = []
        _ = try await cluster.ask(victim, "CREATE last alice,bob")
        for number in 0..<Self.writers {
            let writer = try await cluster.connect(victim)
            for _ in 0..<Self.inFlight { writes.send(on: writer, as: number) }
            writers.append(writer)
        }
        await Stage.pause(milliseconds: 500)
        let began = Stage.loop.nanoseconds
        victim.process?.send(SIGTERM)
        var end: ChildProcess.End?
        while end == nil, Stage.loop.nanoseconds < began + 10_000_000_000 {
            await Stage.pause(milliseconds: 5)
            end = victim.collect()
        }
        let took = Double(Stage.loop.nanoseconds - began) / 1e6
        writes.isOver = true
        for writer in writers { writer.close() }
        try cluster.launch(victim)
        try await cluster.awaitReady(victim)
        let lost = try await missing(of: writes.acknowledged)
        let isBorne =
            end == .exit(status: 0) && took <= Self.endMillisecondsMax && lost == 0
            && !writes.acknowledged.isEmpty
        addLine(
            "stop under load: \(end.map { "\($0)" } ?? "it goes on") after \(Int(took)) ms; "
                + "\(writes.acknowledged.count) OK, \(lost) of them lost; "
                + (isBorne ? "ok" : "FAILED"), !isBorne)
    }

    /// Returns how many of these messages the node does not have.
    private func missing(of messages: [String]) async throws(BenchError) -> Int {
        let reader = try await cluster.connect(victim)
        defer { reader.close() }
        var lost = 0
        for start in stride(from: 0, to: messages.count, by: 500) {
            let asks = messages[start..<min(start + 500, messages.count)].map {
                "EDITS last \($0) alice"
            }
            lost += try await cluster.askAll(asks, on: reader).filter { !$0.isOK }.count
        }
        return lost
    }
}

/// The messages that the writers sent and those that were acknowledged.
@Stage private final class AcknowledgedWrites {
    private(set) var acknowledged: [String] = []
    var isOver = false
    private var sent = 0
    /// Half of the writers send long texts, so that many bytes wait for the disk.
    private let texts = ["hello", String(repeating: "x", count: 16_000)]

    func send(on writer: LineConnection, as number: Int) {
        guard !isOver else { return }
        sent += 1
        let id = "w\(number)-\(sent)"
        writer.send("SEND last alice id=\(id) \(texts[number % 2])") { [weak self] answer in
            guard let self, case .success(let reply) = answer else { return }
            if reply.isOK { acknowledged.append(id) }
            send(on: writer, as: number)
        }
    }
}
