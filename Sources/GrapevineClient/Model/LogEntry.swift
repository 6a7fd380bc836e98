import Foundation

/// A line of the client's log, in words that `grep` finds: what was done, and with what.
public struct LogEntry: Hashable, Sendable {
    /// The importance of an entry.
    public enum Level: String, Hashable, Sendable {
        /// A decision that changes nothing, such as an event that was known.
        case debug
        /// A step, such as a message that a node has accepted.
        case info
        /// A change that was refused.
        case error
    }

    /// The time of this device.
    public let date: Date
    /// The importance.
    public let level: Level
    /// The words, such as `synced action=send message=m1 waited_ms=12`.
    public let text: String
}

extension LogEntry: CustomStringConvertible {
    /// The time in RFC 3339, the importance and the words.
    public var description: String { "\(ExactTime(date: date).short) \(level.rawValue) \(text)" }
}
