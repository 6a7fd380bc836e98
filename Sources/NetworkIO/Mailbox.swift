/// What threads have handed to a loop and it has not run yet: one queue, so that each producer's
/// order is kept between jobs and posted work too.
///
/// The box is armed from the moment something lies in it until the loop has found it empty. Only
/// the one who arms it wakes the loop, so a burst costs one wake-up. That holds because the loop
/// looks into the box before it sleeps, and never sleeps while it is armed.
struct Mailbox: Sendable {
    enum Item: Sendable {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private var items: [Item] = []
    private(set) var isArmed = false

    /// Returns whether the caller must wake the loop.
    mutating func append(_ item: Item) -> Bool {
        items.append(item)
        defer { isArmed = true }
        return !isArmed
    }

    /// Exchanges what waits for an empty array; disarms when nothing did.
    mutating func exchange(_ spare: inout [Item]) {
        swap(&items, &spare)
        isArmed = !spare.isEmpty
    }
}
