import Wire

/// A part of an observed-remove set's state; parts are sorted by their keys.
protocol Keyed {
    associatedtype Key: Comparable

    var key: Key { get }

    func merged(with other: Self) -> Self
}

extension ProcessRecord: Keyed {
    var key: ProcessID { process }
}

extension ObservedRemoveSet.Entry: Keyed {
    var key: Element { element }
}

/// Merges two lists that ascend by key; parts with equal keys are merged into one.
func merged<Part: Keyed>(_ mine: [Part], _ theirs: [Part]) -> [Part] {
    var merged: [Part] = []
    merged.reserveCapacity(max(mine.count, theirs.count))
    var (left, right) = (0, 0)
    while left < mine.count, right < theirs.count {
        if mine[left].key < theirs[right].key {
            merged.append(mine[left])
            left += 1
        } else if theirs[right].key < mine[left].key {
            merged.append(theirs[right])
            right += 1
        } else {
            merged.append(mine[left].merged(with: theirs[right]))
            left += 1
            right += 1
        }
    }
    return merged + mine[left...] + theirs[right...]
}
