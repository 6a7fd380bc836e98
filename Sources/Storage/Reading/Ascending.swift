import Wire

/// Insertion into ascending arrays.
extension Array where Element: Comparable {
    /// Inserts an element in its place, which is nearly always the end, unless it is there.
    mutating func insertAscending(_ element: Element) {
        guard let last, !(last < element) else {
            append(element)
            return
        }
        let index = partitioningIndex { !($0 < element) }
        if element < self[index] { insert(element, at: index) }
    }
}
