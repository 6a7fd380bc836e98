/// The queue of what waits for a turn, in which the sources have equal shares.
///
/// Each source has one turn, and then each its next one, however much of one source waits. Taking
/// and appending cost the same at any length; where one thing of each source waits, as mostly, they
/// allocate nothing for it. Source: fair queueing (J. Nagle, RFC 970).
public struct FairQueue<Source: Hashable & Sendable, Element: Sendable>: Sendable {
    /// What waits of one source: the first, and the rest behind it.
    private struct Waiting: Sendable {
        var first: Element
        var rest = WaitingLine<Element>()

        init(_ first: Element) { self.first = first }
    }

    private var sources = WaitingLine<Source>()
    private var waiting: [Source: Waiting] = [:]
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    /// The number of sources of which something waits.
    public var sourceCount: Int { waiting.count }

    public mutating func append(_ element: Element, of source: Source) {
        if let index = waiting.index(forKey: source) {
            waiting.values[index].rest.append(element)
        } else {
            sources.append(source)
            waiting[source] = Waiting(element)
        }
        count += 1
    }

    public mutating func takeFirst() -> Element? {
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
        count -= 1
        return element
    }
}

/// The elements of a queue, in the order in which they came.
private struct WaitingLine<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var first = 0

    mutating func append(_ element: Element) { elements.append(element) }

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
