import TestKit
import Testing
import Wire

@testable import HTTP

@Suite struct WebSocketTests {
    private struct Found: Equatable {
        var events: [WebSocketReader.Event] = []
        var code: UInt16?
    }

    private func read(_ bytes: [UInt8], piece: Int = .max, messageBytesMax: Int = 70_000) -> Found {
        var reader = WebSocketReader(messageBytesMax: messageBytesMax)
        var found = Found()
        for start in stride(from: 0, to: bytes.count, by: min(piece, max(1, bytes.count))) {
            let end = piece == .max ? bytes.count : min(start + piece, bytes.count)
            bytes[start..<end].withUnsafeBytes { part in
                var rest = part[...]
                do throws(WebSocketError) {
                    while let event = try reader.next(&rest) { found.events.append(event) }
                } catch {
                    found.code = error.code.rawValue
                }
            }
        }
        return found
    }

    /// A client's frame.
    private func frame(
        _ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true, lengthDigits: Int? = nil
    ) -> [UInt8] {
        let mask: [UInt8] = [0x12, 0xFE, 0x34, 0x00]
        let digits = lengthDigits ?? (payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8)
        var bytes = [(isLast ? 0x80 : 0) | opcode]
        switch digits {
        case 0: bytes.append(0x80 | UInt8(payload.count))
        default:
            bytes.append(0x80 | (digits == 2 ? 126 : 127))
            bytes += (0..<digits).reversed().map { UInt8(payload.count >> ($0 * 8) & 0xFF) }
        }
        return bytes + mask + payload.indices.map { payload[$0] ^ mask[$0 % 4] }
    }

    private func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `messages arrive whole, in any pieces and frames`() {
        let long = [UInt8](repeating: 0x61, count: 300)
        let longer = [UInt8](repeating: 0x62, count: 66_000)
        let bytes =
            frame(1, text("hällo")) + frame(1, text("a"), isLast: false) + frame(9, text("p"))
            + frame(0, text("b"), isLast: false) + frame(0, []) + frame(2, long) + frame(10, [])
            + frame(1, longer) + frame(1, []) + frame(8, [0x03, 0xE8] + text("bye"))
        let expected: [WebSocketReader.Event] = [
            .text(text("hällo")), .ping(text("p")), .text(text("ab")), .binary(long), .pong([]),
            .text(longer), .text([]), .close(.normal),
        ]
        for piece in [.max, 1, 2, 3, 7, 1_000] {
            #expect(read(bytes, piece: piece) == Found(events: expected))
        }
    }

    @Test func `what a client may not send ends the connection with a code`() {
        let halfOfAnUmlaut: [UInt8] = [0xC3]
        let cases: [(bytes: [UInt8], code: UInt16)] = [
            ([0x81, 0x01, 0x61], 1002), ([0xC1] + frame(1, []).dropFirst(), 1002),
            (frame(3, []), 1002), (frame(0, []), 1002),
            (frame(1, [], isLast: false) + frame(1, []), 1002),
            (frame(9, [], isLast: false), 1002),
            (frame(9, [UInt8](repeating: 0, count: 126)), 1002),
            (frame(1, text("a"), lengthDigits: 2), 1002),
            (frame(1, [UInt8](repeating: 0x61, count: 300), lengthDigits: 8), 1002),
            (frame(8, [0x03]), 1002), (frame(8, [0x03, 0xED]), 1002), (frame(8, [0, 0]), 1002),
            (frame(8, [0x03, 0xE8] + halfOfAnUmlaut), 1007), (frame(1, halfOfAnUmlaut), 1007),
            (frame(2, [UInt8](repeating: 0, count: 70_001)), 1009),
            ([0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0], 1009),
        ]
        for (bytes, code) in cases {
            for piece in [.max, 1] {
                let found = read(bytes + frame(1, text("later")), piece: piece)
                #expect(found == Found(events: [], code: code), "\(bytes.prefix(4))")
            }
        }
    }

    @Test func `a message is bounded over all of its frames`() {
        let part = frame(1, text("abc"), isLast: false)
        #expect(
            read(part + frame(0, text("d")), messageBytesMax: 4).events == [.text(text("abcd"))])
        #expect(read(part + frame(0, text("de")), messageBytesMax: 4).code == 1009)
    }

    @Test func `a character may be split between frames`() {
        let bytes = frame(1, [0xC3], isLast: false) + frame(0, [0xA4])
        #expect(read(bytes).events == [.text(text("ä"))])
    }

    @Test func `a server's frames are not masked and as short as possible`() {
        func written(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
            var writer = ByteWriter()
            write(&writer)
            return writer.bytes
        }
        for (count, head) in [
            (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]),
            (65_535, [0x81, 126, 0xFF, 0xFF]), (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])] {
            let payload = [UInt8](repeating: 0x61, count: count)
            let frame = written { writer in
                writer.write(webSocketText: [Array(payload.prefix(3)), Array(payload.dropFirst(3))])
            }
            #expect(frame == head + payload)
        }
        #expect(written { $0.writeWebSocketPing() } == [0x89, 0])
        #expect(written { $0.write(webSocketPong: [1, 2]) } == [0x8A, 2, 1, 2])
        #expect(
            written { $0.write(webSocketClose: .goingAway, "bye") }.suffix(3) == text("bye")[...])
        let long = written { $0.write(webSocketClose: .policy, String(repeating: "ä", count: 99)) }
        #expect(long.count == 2 + 2 + 122 && long[1] == 124)
    }
}
