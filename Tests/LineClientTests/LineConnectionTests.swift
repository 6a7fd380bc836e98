import LineProtocol
import NetworkIO
import Testing

@testable import LineClient

@Suite struct LineConnectionTests {
    @Test func `pipelined requests get their own replies, in order`() throws {
        var statuses: [String] = []
        var lines: [Int] = []
        try withConnection { line, connection, _ in
            let count = Int(line.split(separator: " ")[1]) ?? 0
            for number in 0..<count { connection.write(Array("LINE n=\(number)\n".utf8)) }
            connection.write(Array("OK id=\(count)\n".utf8))
        } _: { connection, stop in
            for number in 0..<200 {
                connection.send("GET \(number % 5)") { answer in
                    guard let reply = Self.reply(answer) else { return }
                    statuses.append(reply.statusText)
                    lines.append(reply.data("LINE").count)
                    if statuses.count == 200 { stop() }
                }
            }
            #expect(connection.unansweredCount == 200)
        }
        #expect(statuses == (0..<200).map { "OK id=\($0 % 5)" })
        #expect(lines == (0..<200).map { $0 % 5 })
    }

    @Test func `a reply that comes byte by byte is one reply`() throws {
        var seen: LineReply?
        let bytes = Array("LINE text=\"OK no\"\nOKAY a=1\nERR 404 Message not found\n".utf8)
        try withConnection { _, connection, loop in
            for (delay, byte) in zip(UInt64(1)..., bytes) {
                _ = Timer(on: loop, afterMilliseconds: delay) { connection.write([byte]) }
            }
        } _: { connection, stop in
            connection.send("GET") { answer in
                seen = Self.reply(answer)
                stop()
            }
        }
        #expect(seen?.bytes == bytes)
        #expect(seen?.dataLines.count == 2)
        #expect(seen?.isOK == false)
        #expect(seen?.error == LineError.messageNotFound)
    }

    @Test func `when the server closes, every unanswered request is told, then the owner`()
        throws
    {
        var told: [String] = []
        try withConnection { line, connection, _ in
            if line == "A" { connection.write(Array("OK\n".utf8)) }
            if line == "B" { connection.closeAfterFlush() }
        } _: { connection, stop in
            connection.onClose = { failure in
                told.append("closed: \(failure)")
                #expect(connection.isClosed)
                #expect(!connection.send("D") { _ in Issue.record("a closed connection answers") })
                stop()
            }
            for line in ["A", "B", "C"] {
                connection.send(line) { answer in
                    switch answer {
                    case .success(let reply): told.append("\(line) \(reply.statusText)")
                    case .failure(let failure): told.append("\(line): \(failure)")
                    }
                }
            }
        }
        let ended = LineFailure.ended
        #expect(told == ["A OK", "B: \(ended)", "C: \(ended)", "closed: \(ended)"])
    }

    @Test func `a server that says nothing is given up, but not while it may still answer`()
        throws
    {
        var told: [LineConnection.Answer] = []
        try withConnection { line, connection, loop in
            guard line == "SLOW" else { return }
            _ = Timer(on: loop, afterMilliseconds: 600) {
                connection.write(Array("OK\n".utf8))
            }
        } _: { connection, stop in
            connection.onClose = { _ in stop() }
            connection.send("SLOW", patienceMilliseconds: 20_000) { told.append($0) }
            connection.send("NEVER", patienceMilliseconds: 200) { told.append($0) }
        }
        #expect(told.count == 2)
        #expect(told.first.flatMap(Self.reply)?.isOK == true)
        #expect(told.last == .failure(.silent(milliseconds: 200)))
    }

    @Test func `a node that is not there is unreachable`() throws {
        var failure: LineFailure?
        try onLoop { loop, stop in
            let server = try ScriptedServer(on: loop) { _, _ in }
            let address = server.address
            server.close()
            _ = Timer(on: loop, afterMilliseconds: 1) {
                LineConnection.dial(address, on: loop) { result in
                    if case .failure(let error) = result { failure = error }
                    stop()
                }
            }
        }
        #expect(failure == .unreachable(.refused))
    }

    @Test func `a connection that is full takes no more`() throws {
        var taken = 0
        try withConnection { _, _, _ in
        } _: { connection, stop in
            for _ in 0..<(LineConnection.unansweredMax + 10)
            where connection.send("A", then: { _ in }) {
                taken += 1
            }
            stop()
        }
        #expect(taken == LineConnection.unansweredMax)
    }

    @Test func `a reply that nobody asked for ends the connection`() throws {
        var failure: LineFailure?
        try withConnection { _, connection, _ in
            connection.write(Array("OK\nOK\n".utf8))
        } _: { connection, stop in
            connection.onClose = {
                failure = $0
                stop()
            }
            connection.send("A") { _ in }
        }
        #expect(failure == .notAReply)
    }

    private static func reply(_ answer: LineConnection.Answer) -> LineReply? {
        if case .success(let reply) = answer { reply } else { nil }
    }
}
