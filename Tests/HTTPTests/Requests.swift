@testable import HTTP

/// What a reader found in some bytes.
struct Found: Equatable {
    var heads: [RequestHead] = []
    var bodies: [String] = []
    var ends = 0
    var error: HTTPError?

    var status: Int? { error?.status.rawValue }
}

/// Reads bytes that arrive in pieces of a size.
func read(_ text: String, piece: Int = .max) -> Found {
    read(Array(text.utf8), piece: piece)
}

func read(_ bytes: [UInt8], piece: Int = .max) -> Found {
    var reader = RequestReader()
    var found = Found()
    for start in stride(from: 0, to: bytes.count, by: min(piece, max(1, bytes.count))) {
        let end = piece == .max ? bytes.count : min(start + piece, bytes.count)
        bytes[start..<end].withUnsafeBytes { part in
            var rest = part[...]
            do throws(HTTPError) {
                while let event = try reader.next(&rest) {
                    switch event {
                    case .head(let head):
                        found.heads.append(head)
                        found.bodies.append("")
                    case .body(let bytes):
                        found.bodies[found.bodies.count - 1] += String(
                            decoding: bytes, as: UTF8.self)
                    case .end: found.ends += 1
                    }
                }
            } catch {
                found.error = found.error ?? error
            }
        }
    }
    return found
}

/// A request with these lines behind a request line and a Host.
func request(_ lines: String..., line: String = "POST /v1/x HTTP/1.1", body: String = "") -> String
{
    ([line, "Host: a"] + lines + ["", body]).joined(separator: "\r\n")
}
