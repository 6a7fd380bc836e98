import LineProtocol
import TestKit
import Testing

@Suite struct LineCutterTests {
    @Test func `a line ends at LF and a CR before it is dropped`() {
        #expect(cuts(["a\r\nb\n\nc\r\r\n"]) == ["line a", "line b", "line ", "line c\r"])
    }

    @Test func `a line may come in pieces`() {
        #expect(
            cuts(["PI", "N", "", "G\r", "\nPING\nP"]) == ["line PING", "line PING", "not ended"])
    }

    @Test func `a CR that turns out not to be the end belongs to the line`() {
        #expect(cuts(["a\r", "b\n"]) == ["line a\rb"])
    }

    @Test func `a blank rest at the end of input is nothing`() {
        #expect(cuts(["PING\n  "]) == ["line PING"])
        #expect(cuts(["PING\n \r"]) == ["line PING"])
        #expect(cuts([""]).isEmpty)
        #expect(cuts(["PING\nPING"]) == ["line PING", "not ended"])
    }

    @Test(arguments: [1, 7, 4_096, 65_535, 65_536, 65_537, 200_000])
    func `the limit counts the bytes before the line end, in whatever pieces`(size: Int) {
        let limit = LineLimits.lineBytesMax
        for ending in ["\n", "\r\n"] {
            let fits = String(repeating: "x", count: limit) + ending
            let over = String(repeating: "x", count: limit + 1) + ending
            #expect(
                cuts([fits + over + "PING\n"], size: size).map { $0.prefix(9) } == [
                    "line xxxx", "too long", "line PING",
                ])
        }
    }

    @Test func `an over-long line is answered once, before its end comes, and skipped`() {
        let many = Array(repeating: String(repeating: "x", count: 10_000), count: 30)
        #expect(cuts(many) == ["too long"])
        #expect(cuts(many + ["x\nPING\n"]) == ["too long", "line PING"])
    }

    @Test func `nothing is kept between lines, and never more than a line`() {
        var cutter = LineCutter()
        feed("PING\nPI", to: &cutter) { _ in }
        #expect(cutter.keptCount == 2)
        feed("NG\n", to: &cutter) { _ in }
        #expect(cutter.keptCount == 0)
        for _ in 0..<1_000 {
            feed(String(repeating: "x", count: 1_000), to: &cutter) { _ in }
            #expect(cutter.keptCount <= LineLimits.lineBytesMax + 1)
        }
    }

    @Test(arguments: UInt64(0)..<25)
    func `any chunking of a stream cuts the same lines`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var stream: [UInt8] = []
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            let isLong = Int.random(in: 0..<8, using: &generator) == 0
            let count = isLong ? Int.random(in: 65_500...65_600, using: &generator) : 40
            for _ in 0..<Int.random(in: (isLong ? count - 1 : 0)...count, using: &generator) {
                stream.append(UInt8.random(in: 0x0B...0xFF, using: &generator))
            }
            stream.append(
                contentsOf: ["\n", "\r\n", "\n\n", "\r"].randomElement(using: &generator)?.utf8
                    ?? "".utf8)
        }
        let whole = cuts(chunks: [stream])
        for limit in [1, 3, 100, 70_000] {
            var chunks: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let chunk = rest.prefix(Int.random(in: 1...limit, using: &generator))
                chunks.append(Array(chunk))
                rest = rest.dropFirst(chunk.count)
            }
            #expect(cuts(chunks: chunks) == whole, "seed \(seed), chunks up to \(limit)")
        }
    }

    private func cuts(_ pieces: [String]) -> [String] {
        cuts(chunks: pieces.map { Array($0.utf8) }).map { String(decoding: $0, as: UTF8.self) }
    }

    private func cuts(_ pieces: [String], size: Int) -> [String] {
        let bytes = Array(pieces.joined().utf8)
        let chunks = stride(from: 0, to: bytes.count, by: size).map {
            Array(bytes[$0..<min($0 + size, bytes.count)])
        }
        return cuts(chunks: chunks).map { String(decoding: $0, as: UTF8.self) }
    }

    private func cuts(chunks: [[UInt8]]) -> [[UInt8]] {
        var cutter = LineCutter()
        var shown: [[UInt8]] = []
        for chunk in chunks {
            chunk.withUnsafeBytes { bytes in cutter.feed(bytes) { shown.append(show($0)) } }
        }
        if let last = cutter.finish() { shown.append(show(last)) }
        return shown
    }

    private func show(_ cut: LineCutter.LineEvent) -> [UInt8] {
        switch cut {
        case .line(let bytes): Array("line ".utf8) + Array(bytes)
        case .tooLong: Array("too long".utf8)
        case .notEnded: Array("not ended".utf8)
        }
    }

    private func feed(
        _ text: String, to cutter: inout LineCutter, _ visit: (LineCutter.LineEvent) -> Void
    ) {
        Array(text.utf8).withUnsafeBytes { cutter.feed($0, visit) }
    }
}
