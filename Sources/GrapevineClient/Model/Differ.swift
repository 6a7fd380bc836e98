/// The difference of two lists of elements with ids: what a list view has to change.
public struct ListDifference<Element: Identifiable & Equatable> {
    /// The indices in the old list of elements that are gone, in descending order.
    public let removed: [Int]
    /// The indices in the new list of elements that are new, in ascending order.
    public let inserted: [Int]
    /// The indices in the new list of elements that have changed or moved, in ascending order.
    public let changed: [Int]

    /// Compares two lists whose ids are unique.
    public init(from old: [Element], to new: [Element]) {
        let before = Dictionary(
            zip(old.map(\.id), old.indices), uniquingKeysWith: { first, _ in first })
        let after = Set(new.map(\.id))
        removed = old.indices.filter { !after.contains(old[$0].id) }.reversed()
        inserted = new.indices.filter { before[new[$0].id] == nil }
        // Of those in both lists, the ones that stand in another order have moved.
        let kept = old.map(\.id).filter(after.contains)
        let places = Dictionary(zip(kept, kept.indices), uniquingKeysWith: { first, _ in first })
        var place = 0
        var changed: [Int] = []
        for index in new.indices {
            guard let known = before[new[index].id] else { continue }
            let hasMoved = places[new[index].id] != place
            if hasMoved || old[known] != new[index] { changed.append(index) }
            place += 1
        }
        self.changed = changed
    }

    /// Whether the lists are equal.
    public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && changed.isEmpty }
}

extension ListDifference: Sendable where Element: Sendable {}
