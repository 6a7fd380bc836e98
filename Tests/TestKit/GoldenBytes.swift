import Foundation
import Wire

/// The bytes of examples of one type, as an earlier build encoded them.
///
/// Disks and nodes of other versions hold such bytes, so a change of the code must not change them.
/// They are kept in `Golden/NAME.txt` beside the tests: an example a line, in hexadecimal digits;
/// one above 256 bytes as its length and its hash.
package struct GoldenBytes {
    private static let bytesMax = 256

    private let file: URL
    private let lines: [String]

    /// - Parameter path: of the test's source file.
    package init(_ name: String, of examples: [[UInt8]], beside path: String = #filePath) {
        file = URL(filePath: path).deletingLastPathComponent()
            .appending(path: "Golden/\(name).txt")
        lines = examples.map(GoldenBytes.line)
    }

    private static func line(_ bytes: [UInt8]) -> String {
        guard bytes.count > bytesMax else {
            return bytes.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        return "\(bytes.count) bytes, hash \(hexadecimal(checksum(bytes)))"
    }

    /// What differs, in a sentence; nil where nothing does.
    ///
    /// With `GRAPEVINE_GOLDEN=write` in the environment, the file is written instead: for a format
    /// that is meant to change, and the difference is then read in review.
    package func difference() throws -> String? {
        if ProcessInfo.processInfo.environment["GRAPEVINE_GOLDEN"] == "write" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try (lines.joined(separator: "\n") + "\n").write(
                to: file, atomically: true, encoding: .utf8)
        }
        let kept = try String(contentsOf: file, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard kept.count == lines.count else {
            return "\(file.lastPathComponent) has \(kept.count) examples, not \(lines.count)"
        }
        for (index, pair) in zip(kept, lines).enumerated() where pair.0 != pair.1 {
            return "line \(index + 1) of \(file.lastPathComponent) is \(pair.0), not \(pair.1)"
        }
        return nil
    }
}
