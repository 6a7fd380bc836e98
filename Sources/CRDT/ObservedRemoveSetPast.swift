extension ObservedRemoveSet {
    /// What was an element and is none, ascending.
    public var removed: [Element] {
        entries.lazy.filter { $0.dots.isEmpty }.map { $0.element }
    }

    /// Whether who has seen `known` has seen an element in it, one that was removed included.
    public func isSeen(within known: Vector) -> Bool {
        entries.contains { entry in entry.context.dots.contains(where: known.contains) }
    }
}
