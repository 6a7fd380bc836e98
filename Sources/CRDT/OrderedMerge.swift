/// Returns the union of two lists, sorted by a property other than the key; each key occurs once.
///
/// - Parameters:
///   - key: returns the key of an element, which occurs once in each list.
///   - order: the property by which the result ascends; a merge may change it.
///   - merge: merges two elements that have the same key.
public func mergedByKey<Element, Key: Equatable, Order: Comparable>(
    _ left: [Element], _ right: [Element], _ key: (Element) -> Key,
    orderedBy order: (Element) -> Order, merge: (inout Element, Element) -> Void
) -> [Element] {
    var merged = left
    for element in right {
        if let index = merged.firstIndex(where: { key($0) == key(element) }) {
            merge(&merged[index], element)
        } else {
            merged.append(element)
        }
    }
    if merged.count > 1 { merged.sort { order($0) < order($1) } }
    return merged
}
