/// Returns the union of two lists that ascend by a key, in linear time; each key occurs once.
///
/// - Parameter combine: merges two elements that have the same key.
public func mergedAscending<Element, Key: Comparable>(
    _ left: [Element], _ right: [Element], by key: (Element) -> Key,
    combine: (Element, Element) -> Element
) -> [Element] {
    guard !right.isEmpty else { return left }
    guard !left.isEmpty else { return right }
    var merged: [Element] = []
    merged.reserveCapacity(max(left.count, right.count))
    var (mine, theirs) = (0, 0)
    while mine < left.count, theirs < right.count {
        let (leftKey, rightKey) = (key(left[mine]), key(right[theirs]))
        if leftKey < rightKey {
            merged.append(left[mine])
            mine += 1
        } else if rightKey < leftKey {
            merged.append(right[theirs])
            theirs += 1
        } else {
            merged.append(combine(left[mine], right[theirs]))
            mine += 1
            theirs += 1
        }
    }
    merged += left[mine...]
    merged += right[theirs...]
    return merged
}
