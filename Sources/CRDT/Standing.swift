/// What an operation finds where it is to be executed.
public enum Standing: Hashable, Sendable {
    /// Nothing of it.
    case new
    /// Its effect, or what a later operation of its process made of it.
    case done
    /// Something that is not earlier: it needs a time greater than this.
    case stale(HybridTimestamp)

    /// What an operation that writes a value finds where these were written before.
    public static func ofWriting(_ operation: Stamp, over stamps: [Stamp?]) -> Standing {
        let stamps = stamps.compactMap(\.self)
        if stamps.contains(operation) { return .done }
        guard let latest = stamps.map(\.time).max(), latest >= operation.time else { return .new }
        return .stale(latest)
    }
}
