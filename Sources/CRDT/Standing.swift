/// The state of an operation at its target: new, executed, too old, or one too many.
public enum Standing: Hashable, Sendable {
    /// The operation has not been executed.
    case new
    /// The operation, or a later one of its process, has been executed.
    case done
    /// The target was written at a time no earlier than the operation's; the operation needs a time
    /// greater than the associated one.
    case stale(HybridTimestamp)
    /// The operations of as many devices are recorded at the target as it keeps.
    case full

    /// Returns the state of an addition, or that it is too old: a device's operation adds nothing
    /// that was removed at a later time.
    public func unless(_ operation: Stamp, precedes removal: HybridTimestamp?) -> Standing {
        guard self == .new, operation.precedes(removal), let removal else { return self }
        return .stale(removal)
    }

    /// Returns the state of a writing operation whose target stores values with these stamps.
    public static func ofWriting(_ operation: Stamp, over stamps: [Stamp?]) -> Standing {
        let stamps = stamps.compactMap(\.self)
        if stamps.contains(operation) { return .done }
        guard let latest = stamps.map(\.time).max(), latest >= operation.time else { return .new }
        return .stale(latest)
    }
}
