/// The jobs and the work that threads have handed to a loop and that it has not run yet, in one
/// queue, so that each producer's order is kept between jobs and posted work too.
///
/// The mailbox is armed from the moment it contains something until the loop has found it empty.
/// Only the thread that arms it wakes the loop, so a burst costs one wake-up. This is safe because
/// the loop looks into the mailbox before it sleeps, and never sleeps while it is armed.
struct Mailbox: Sendable {
    enum Item: Sendable {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private var items: [Item] = []
    private(set) var isArmed = false

    /// Adds an item, and returns whether the caller must wake the loop.
    mutating func append(_ item: Item) -> Bool {
        items.append(item)
        defer { isArmed = true }
        return !isArmed
    }

    /// Exchanges the waiting items for an empty array; disarms the mailbox when there were none.
    mutating func exchange(_ spare: inout [Item]) {
        swap(&items, &spare)
        isArmed = !spare.isEmpty
    }
}
