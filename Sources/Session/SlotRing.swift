import Admin
import Node

/// The unanswered requests of a session in order, each with the state of its response.
struct SlotRing {
    typealias Slot = Session.Slot

    private var slots: [Slot] = []
    /// The traces of the requests in `slots`, at the same indexes.
    private var asked: [RequestTrace] = []
    /// The index in `slots` of the head, whose response is the next that the session sends.
    private var first = 0
    /// The slot number of the head, which is the oldest unanswered request.
    private(set) var headNumber: UInt64 = 0
    /// The bytes of the responses that were not sent yet.
    private(set) var bytes = 0

    var count: Int { slots.count - first }
    var isEmpty: Bool { count == 0 }
    /// The number that the next request will get.
    var nextNumber: UInt64 { headNumber + UInt64(count) }

    /// The content of the slot at the head; the ring must not be empty.
    var head: Slot {
        get { slots[first] }
        set {
            bytes += newValue.bytesCount - slots[first].bytesCount
            slots[first] = newValue
        }
    }

    var isHeadReady: Bool { if !isEmpty, case .ready = head { true } else { false } }

    mutating func append(_ slot: consuming Slot, to trace: RequestTrace) {
        bytes += slot.bytesCount
        slots.append(slot)
        asked.append(trace)
    }

    /// Removes and returns the content of a slot, which is `waiting` afterwards; nil if its
    /// response was sent.
    mutating func take(_ number: UInt64) -> Slot? {
        guard let index = index(of: number) else { return nil }
        let taken = slots[index].exchange()
        bytes -= taken.bytesCount
        return taken
    }

    /// Puts content into a slot from which `take` has removed the content.
    mutating func put(_ slot: consuming Slot, at number: UInt64) {
        guard let index = index(of: number) else { return }
        bytes += slot.bytesCount - slots[index].bytesCount
        slots[index] = slot
    }

    /// Stores a response in the form in which the session sends it as soon as it is at the head.
    mutating func fill(_ number: UInt64, with response: Response) {
        guard let index = index(of: number) else { return }
        put(.ready(asked[index].make(response)), at: number)
    }

    /// Subtracts bytes of the response at the head that were sent.
    mutating func subtractSent(_ count: Int) { bytes -= count }

    /// Removes the request at the head, whose response was sent.
    ///
    /// - Returns: the entry for the node's request metrics; nil for a request that is not counted.
    mutating func removeHead() -> AnsweredRequest? {
        let answered = asked[first].isCounted ? asked[first].answered : nil
        slots[first] = .waiting
        first += 1
        headNumber += 1
        return answered
    }

    /// Frees the memory of the requests that were removed.
    mutating func compact() {
        if first == slots.count {
            slots.removeAll(keepingCapacity: slots.count <= SessionLimits.slotsMax)
            asked.removeAll(keepingCapacity: slots.count <= SessionLimits.slotsMax)
            first = 0
        } else if first >= SessionLimits.slotsMax {
            slots.removeFirst(first)
            asked.removeFirst(first)
            first = 0
        }
    }

    mutating func removeAll() {
        slots = []
        asked = []
        first = 0
        bytes = 0
    }

    private func index(of number: UInt64) -> Int? {
        guard number >= headNumber, number < nextNumber else { return nil }
        return first + Int(number - headNumber)
    }
}
