import Glibc
import NetworkIO
import Testing

@Suite struct LineWriterTests {
    /// Returns a pipe of one page, of which this test holds the reading end.
    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(Glibc.pipe(&ends) == 0)
        // F_SETPIPE_SZ, which Swift does not import.
        _ = fcntl(ends[1], 1_031, 4_096)
        return (ends[0], ends[1])
    }

    private static func read(_ descriptor: Int32, until isEnough: (String) -> Bool) -> String {
        var text = ""
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        while !isEnough(text) {
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            text += String(decoding: bytes[..<count], as: UTF8.self)
        }
        return text
    }

    @Test func `lines arrive whole and in order`() throws {
        let (reading, writing) = try Self.pipe()
        let writer = try LineWriter(writing) { "dropped \($0)" }
        for number in 1...100 { writer.write("line \(number)") }
        #expect(writer.finish(withinMilliseconds: 20_000))
        let expected = (1...100).map { "line \($0)\n" }.joined()
        #expect(Self.read(reading) { $0.utf8.count >= expected.utf8.count } == expected)
        close(reading)
    }

    @Test func `a reader that stands still blocks nobody, and is told what it missed`() throws {
        let (reading, writing) = try Self.pipe()
        let writer = try LineWriter(writing, bytesMax: 10_000) { "dropped \($0)" }
        let line = String(repeating: "x", count: 99)
        // A thousand lines of 100 bytes: the pipe takes 4,096 bytes, and the buffer less than
        // 10,000 twice (what is being written, and what waits).
        for _ in 0..<1_000 { writer.write(line) }
        #expect(!writer.finish(withinMilliseconds: 10))
        let text = Self.read(reading) { $0.contains("dropped") && $0.hasSuffix("\n") }
        let written = text.split(separator: "\n").count { $0 == line }
        let dropped = text.split(separator: "\n").compactMap { line in
            line.hasPrefix("dropped ") ? Int(line.dropFirst("dropped ".count)) : nil
        }
        #expect(written < 250)
        #expect(written + dropped.reduce(0, +) == 1_000)
        writer.write("afterwards")
        #expect(Self.read(reading) { $0.hasSuffix("afterwards\n") } == "afterwards\n")
        close(reading)
    }

    @Test func `a descriptor that does not block is waited for`() throws {
        let (reading, writing) = try Self.pipe()
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        let writer = try LineWriter(writing) { "dropped \($0)" }
        let line = String(repeating: "y", count: 20_000)
        writer.write(line)
        #expect(Self.read(reading) { $0.hasSuffix("\n") } == line + "\n")
        close(reading)
    }
}
