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
        var rest = Array(piece)[...]
        while let first = rest.first {
            if isAfterReturn {
                isAfterReturn = false
                if first == UInt8(ascii: "\n") { rest.removeFirst() }
                continue
            }
            let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            let part = rest[..<(end ?? rest.endIndex)]
            bytes += part.count
            guard bytes <= Self.eventBytesMax else { throw EventTooLong() }
            line += part
            guard let end else { break }
            isAfterReturn = rest[end] == UInt8(ascii: "\r")
            rest = rest[(end + 1)...]
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    /// Takes in a line, and returns the event that it ends.
    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": event.name = text
        case "id" where !value.contains(0): event.id = text
        case "data":
            event.data += (hasData ? "\n" : "") + text
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
