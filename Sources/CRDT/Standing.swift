/// The state that an operation finds at its target.
public enum Standing: Hashable, Sendable {
    /// The operation has not been executed.
    case new
    /// The operation, or a later one of its process, has been executed.
    case done
    /// The target has a time that is not earlier; the operation needs a greater time than this.
    case stale(HybridTimestamp)

    /// Returns the state that a writing operation finds where values with these stamps are stored.
    public static func ofWriting(_ operation: Stamp, over stamps: [Stamp?]) -> Standing {
        let stamps = stamps.compactMap(\.self)
        if stamps.contains(operation) { return .done }
        guard let latest = stamps.map(\.time).max(), latest >= operation.time else { return .new }
        return .stale(latest)
    }
}
