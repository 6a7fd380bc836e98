import Foundation
import Testing

@testable import Fuzz

@Suite struct ReplayTests {
    @Test(arguments: Parser.allCases)
    func `no kept input breaks a law`(parser: Parser) throws {
        let inputs = try Self.inputs(of: parser)
        #expect(inputs.count > 5)
        for input in inputs { parser.check(input) }
    }

    @Test(arguments: Parser.allCases)
    func `what is kept is small`(parser: Parser) throws {
        let inputs = try Self.inputs(of: parser)
        #expect(inputs.allSatisfy { $0.count <= Parser.inputBytesMax })
        #expect(inputs.reduce(0) { $0 + $1.count } < 150_000)
    }

    /// Returns the inputs of a parser: one per line, in hexadecimal.
    private static func inputs(of parser: Parser) throws -> [[UInt8]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Corpus/\(parser.rawValue).hex")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let digits = Array(line.utf8)
            return try stride(from: 0, to: digits.count - 1, by: 2).map { start in
                let pair = String(decoding: digits[start...(start + 1)], as: UTF8.self)
                return try #require(UInt8(pair, radix: 16))
            }
        }
    }
}
