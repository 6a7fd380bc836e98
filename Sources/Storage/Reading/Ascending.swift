import Wire

/// Insertion into ascending arrays.
extension Array where Element: Comparable {
    /// Inserts an element at its sorted place, nearly always the end, unless the array contains it.
    mutating func insertAscending(_ element: Element) {
        guard let last, !(last < element) else {
            append(element)
            return
        }
        let index = partitioningIndex { !($0 < element) }
        if element < self[index] { insert(element, at: index) }
    }
}
