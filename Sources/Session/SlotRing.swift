import Admin
import Node

/// The requests of a session that are not answered, in order, each with what is known of its
/// response.
struct SlotRing {
    typealias Slot = Session.Slot

    private var slots: [Slot] = []
    /// The requests of `slots`.
    private var asked: [RequestTrace] = []
    /// The index in `slots` of the head, whose response is the next one to leave.
    private var first = 0
    /// The number of the slot at the head.
    private(set) var headNumber: UInt64 = 0
    /// The bytes of responses that have not left.
    private(set) var bytes = 0

    var count: Int { slots.count - first }
    var isEmpty: Bool { count == 0 }
    /// The number of the next request.
    var nextNumber: UInt64 { headNumber + UInt64(count) }

    /// The content of the slot at the head, which has to exist.
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

    /// Takes the content out of a slot, which waits from then on; nil for one that has left.
    mutating func take(_ number: UInt64) -> Slot? {
        guard let index = index(of: number) else { return nil }
        let taken = slots[index].exchange()
        bytes -= taken.bytesCount
        return taken
    }

    /// Puts back what was taken out of a slot.
    mutating func put(_ slot: consuming Slot, at number: UInt64) {
        guard let index = index(of: number) else { return }
        bytes += slot.bytesCount - slots[index].bytesCount
        slots[index] = slot
    }

    /// Makes of a response the form in which it leaves, once it is at the head.
    mutating func fill(_ number: UInt64, with response: Response) {
        guard let index = index(of: number) else { return }
        put(.ready(asked[index].make(response)), at: number)
    }

    /// Notes that bytes of the response at the head have left.
    mutating func subtractSent(_ count: Int) { bytes -= count }

    /// Removes the request at the head, whose response has left.
    ///
    /// - Returns: nil for one that is not counted.
    mutating func removeHead() -> AnsweredRequest? {
        let answered = asked[first].isCounted ? asked[first].answered : nil
        slots[first] = .waiting
        first += 1
        headNumber += 1
        return answered
    }

    /// Gives back the memory of the requests that were removed.
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
