extension ObservedRemoveSet {
    /// What was an element and is none, ascending.
    public var removed: [Element] {
        entries.lazy.filter { $0.dots.isEmpty }.map { $0.element }
    }
}
