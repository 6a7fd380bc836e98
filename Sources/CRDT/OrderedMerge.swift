/// Returns the union of two lists, each key once, in the order of another property.
///
/// - Parameters:
///   - key: what names an element in each list, once.
///   - order: the property by which the result ascends; a merge may change it.
///   - merge: merges an element with another that has the same key.
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
