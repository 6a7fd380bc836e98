import Foundation

/// The reader of a stream of Server-Sent Events (WHATWG, HTML, 9.2 "Server-sent events"), whose
/// bytes arrive in any pieces.
struct EventStreamReader {
    /// The most bytes of an event: more than any that a node sends.
    static let eventBytesMax = 1 << 20

    /// An event of a stream.
    struct Event: Equatable, Sendable {
        /// The kind; `message` if the stream names none.
        var name = "message"
        var data = ""
        /// The last id of the stream.
        var id: String?
    }

    /// A stream that sends an event of more than ``EventStreamReader/eventBytesMax`` bytes.
    struct EventTooLong: Error {}

    private var line: [UInt8] = []
    private var event = Event()
    private var hasData = false
    private var bytes = 0
    /// Whether the last byte was a carriage return: a line feed after it ends no other line.
    private var isAfterReturn = false

    /// Returns the events that are complete with these bytes.
    mutating func read(_ piece: some Sequence<UInt8>) throws(EventTooLong) -> [Event] {
        var events: [Event] = []
        for byte in piece {
            let isFeedOfReturn = isAfterReturn && byte == UInt8(ascii: "\n")
            isAfterReturn = byte == UInt8(ascii: "\r")
            if isFeedOfReturn { continue }
            if byte == UInt8(ascii: "\n") || isAfterReturn {
                if let event = endLine() { events.append(event) }
            } else {
                bytes += 1
                guard bytes <= Self.eventBytesMax else { throw EventTooLong() }
                line.append(byte)
            }
        }
        return events
    }

    /// Takes in a line, and returns the event that it ends.
    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return endEvent() }
        let text = String(decoding: line, as: UTF8.self)
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        var value = text[colon...].dropFirst()
        if value.first == " " { value = value.dropFirst() }
        switch text[..<colon] {
        case "event": event.name = String(value)
        case "id" where !value.contains("\0"): event.id = String(value)
        case "data":
            event.data += (hasData ? "\n" : "") + value
            hasData = true
        default: break  // A comment, or a field that says nothing here.
        }
        return nil
    }

    private mutating func endEvent() -> Event? {
        defer {
            event = Event(id: event.id)
            hasData = false
            bytes = 0
        }
        return hasData ? event : nil
    }
}
