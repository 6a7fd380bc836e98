/// The queue of what waits for a turn, in which the sources have equal shares.
///
/// Each source has one turn, and then each its next one, however much of one source waits. Taking
/// and appending cost the same at any length; where one thing of each source waits, as mostly, they
/// allocate nothing for it. Source: fair queueing (J. Nagle, RFC 970).
package struct FairQueue<Source: Hashable & Sendable, Element: Sendable>: Sendable {
    /// What waits of one source: the first, and the rest behind it.
    @usableFromInline
    struct Waiting: Sendable {
        @usableFromInline var first: Element
        @usableFromInline var rest = WaitingLine<Element>()

        @inlinable
        init(_ first: Element) { self.first = first }
    }

    @usableFromInline var sources = WaitingLine<Source>()
    @usableFromInline var waiting: [Source: Waiting] = [:]
    @usableFromInline var size = 0

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { size }

    @inlinable
    package var isEmpty: Bool { size == 0 }

    /// The number of sources of which something waits.
    @inlinable
    package var sourceCount: Int { waiting.count }

    @inlinable
    package mutating func append(_ element: Element, of source: Source) {
        if let index = waiting.index(forKey: source) {
            waiting.values[index].rest.append(element)
        } else {
            sources.append(source)
            waiting[source] = Waiting(element)
        }
        size += 1
    }

    @inlinable
    package mutating func takeFirst() -> Element? {
        guard let source = sources.takeFirst(), let index = waiting.index(forKey: source) else {
            return nil
        }
        let element = waiting.values[index].first
        if let next = waiting.values[index].rest.takeFirst() {
            waiting.values[index].first = next
            sources.append(source)
        } else {
            waiting.remove(at: index)
        }
        size -= 1
        return element
    }
}

/// The elements of a queue, in the order in which they came.
@usableFromInline
struct WaitingLine<Element: Sendable>: Sendable {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var first = 0

    @inlinable
    init() {}

    @inlinable
    mutating func append(_ element: Element) { elements.append(element) }

    @inlinable
    mutating func takeFirst() -> Element? {
        guard first < elements.count else { return nil }
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
