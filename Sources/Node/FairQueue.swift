/// The queue of what waits for a turn, in which the sources have equal shares.
///
/// Each source has one turn, and then each its next one, however much of one source waits. Taking
/// and appending cost the same at any length. Source: fair queueing (J. Nagle, RFC 970).
package struct FairQueue<Source: Hashable & Sendable, Element: Sendable>: Sendable {
    private var sources = Line<Source>()
    private var elements: [Source: Line<Element>] = [:]
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// The number of sources of which something waits.
    package var sourceCount: Int { elements.count }

    package mutating func append(_ element: Element, of source: Source) {
        if elements[source] == nil { sources.append(source) }
        elements[source, default: Line()].append(element)
        count += 1
    }

    package mutating func takeFirst() -> Element? {
        guard let source = sources.takeFirst() else { return nil }
        let element = elements[source]?.takeFirst()
        if elements[source]?.isEmpty ?? true {
            elements[source] = nil
        } else {
            sources.append(source)
        }
        count -= 1
        return element
    }
}

/// The elements of a queue, in the order in which they came.
private struct Line<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var first = 0

    var isEmpty: Bool { first == elements.count }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func takeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[first]
        first += 1
        // Half of the array at most is behind its beginning, so that each is moved once.
        if first > elements.count / 2 {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
