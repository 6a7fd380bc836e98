import Node
import Testing

@testable import Server

@Suite struct LogLimitTests {
    private static let span = LogLimit.spanMilliseconds

    private var log = LogLimit()

    @Test mutating func `of many lines of one kind a few are written, and the rest is told of`() {
        var written = 0
        for number in 0..<1_000 {
            let line = "disconnected peer=n2 x=\(number)"
            if log.admits(line, at: .info, now: 5) { written += 1 }
        }
        #expect(written == LogLimit.linesMax)
        let got1 = log.takeWithheld(now: 4 + Self.span)
        #expect(got1.isEmpty)
        let told = log.takeWithheld(now: 5 + Self.span)
        #expect(told.map(\.0) == [.info])
        #expect(told.map(\.1) == ["withheld=980 more like: disconnected peer=n2 x=0"])
        let got2 = log.takeWithheld(now: 5 + 9 * Self.span)
        #expect(got2.isEmpty)
        let got3 = log.admits("disconnected peer=n2", at: .info, now: 6 + Self.span)
        #expect(got3)
    }

    @Test mutating func `peers and shards are told apart, numbers are not`() {
        for _ in 0..<LogLimit.linesMax { _ = log.admits("silent peer=n2", at: .info, now: 0) }
        let got4 = log.admits("silent peer=n2", at: .info, now: 0)
        #expect(!got4)
        let got5 = log.admits("silent peer=n3", at: .info, now: 0)
        #expect(got5)
        let got6 = log.admits("silent peer=n2", at: .error, now: 0)
        #expect(got6)
        let got7 = log.admits("silent peer=n2 shard=4", at: .info, now: 0)
        #expect(got7)
        for number in 0..<LogLimit.linesMax {
            _ = log.admits("too long: \(number)", at: .info, now: 0)
        }
        let got8 = log.admits("too long: 77", at: .info, now: 0)
        #expect(!got8)
    }

    @Test mutating func `made-up names do not make the log grow`() {
        var written = 0
        for number in 0..<100_000 {
            let line = "connected peer=x\(number)"
            if log.admits(line, at: .info, now: 0) { written += 1 }
        }
        #expect(written == LogLimit.kindsMax + LogLimit.linesMax)
        let told = log.takeWithheld(now: Self.span).map(\.1)
        #expect(told == ["withheld=\(100_000 - written) more like: lines of many kinds"])
    }

    @Test func `a line is cut where it is too long`() {
        #expect(LogLimit.cut("short") == "short")
        let long = String(repeating: "ä", count: 5_000)
        #expect(LogLimit.cut(long).utf8.count <= LogLimit.lineBytesMax + 3)
    }
}
