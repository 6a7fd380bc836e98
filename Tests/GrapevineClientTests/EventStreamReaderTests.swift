import TestKit
import Testing

@testable import GrapevineClient

@Suite struct EventStreamReaderTests {
    private typealias Event = EventStreamReader.Event

    private let stream = """
        : a comment
        event: watching
        id: T1
        data: {"stream":"s"}

        data: first
        data:second
        data

        event: nothing

        retry: 1
        event: message
        data: {"text":"grün"}
        id: T2


        """

    private let expected = [
        EventStreamReader.Event(name: "watching", data: #"{"stream":"s"}"#, id: "T1"),
        EventStreamReader.Event(name: "message", data: "first\nsecond\n", id: "T1"),
        EventStreamReader.Event(name: "message", data: #"{"text":"grün"}"#, id: "T2"),
    ]

    @Test(arguments: ["\n", "\r\n", "\r"]) func `events are read in any pieces`(_ end: String)
        throws
    {
        let bytes = Array(stream.replacing("\n", with: end).utf8)
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var reader = EventStreamReader()
            var events: [Event] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...20, using: &random))
                events += try reader.read(piece)
                rest = rest.dropFirst(piece.count)
            }
            #expect(events == expected, "seed \(seed)")
        }
    }

    @Test func `an event without an end is refused before it fills the memory`() throws {
        var reader = EventStreamReader()
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 16)
        _ = try reader.read(Array("data: ".utf8))
        for _ in 0..<15 { _ = try reader.read(piece) }
        #expect(throws: EventStreamReader.EventTooLong.self) { _ = try reader.read(piece) }
    }

    @Test func `the limit is that of one event, not of the stream`() throws {
        var reader = EventStreamReader()
        let event = Array("data: \(String(repeating: "a", count: 1 << 16))\n\n".utf8)
        for _ in 0..<40 { #expect(try reader.read(event).count == 1) }
    }

    @Test func `bytes that are no UTF-8 are replaced`() throws {
        var reader = EventStreamReader()
        let events = try reader.read(Array("data: a".utf8) + [0xFF] + Array("\n\n".utf8))
        #expect(events == [Event(data: "a\u{FFFD}")])
    }
}
