/// A queue of events ordered by time; events of equal time leave in the order of their arrival.
struct EventQueue<Event> {
    private struct Entry {
        let at: UInt64
        let order: UInt64
        let event: Event
    }

    /// A binary heap with the earliest entry at its root.
    private var heap: [Entry] = []
    private var pushed: UInt64 = 0

    /// - Parameter at: microseconds since the run began.
    mutating func push(_ event: Event, at: UInt64) {
        pushed += 1
        heap.append(Entry(at: at, order: pushed, event: event))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard comes(child, before: parent) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// The time of the next event, in microseconds; nil if the queue is empty.
    var nextAt: UInt64? { heap.first?.at }

    mutating func pop() -> (at: UInt64, event: Event)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.at, first.event)
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && comes(child, before: least) {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }

    private func comes(_ left: Int, before right: Int) -> Bool {
        (heap[left].at, heap[left].order) < (heap[right].at, heap[right].order)
    }
}
