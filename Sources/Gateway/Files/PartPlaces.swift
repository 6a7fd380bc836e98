/// The places for parts of files that are on their way to the disks: so many at once, of all
/// uploads together, since each costs several times its bytes until it is stored.
///
/// Whoever finds none waits in a queue, and gets the next one that becomes free.
package struct PartPlaces: Sendable {
    private var free: Int
    /// The uploads that wait, the longest first, and the same as a set.
    private var queue: [UInt64] = []
    private var queued: Set<UInt64> = []
    /// The uploads for which a place is kept.
    private var kept: Set<UInt64> = []

    package init(_ count: Int = AppLimits.partsAtOnceMax) { free = count }

    /// Takes a place for a part of an upload; false where it has to wait for one.
    package mutating func take(for upload: UInt64) -> Bool {
        if kept.remove(upload) != nil { return true }
        guard free == 0 else {
            free -= 1
            return true
        }
        if queued.insert(upload).inserted { queue.append(upload) }
        return false
    }

    /// Gives places back.
    ///
    /// - Returns: the uploads that a place is kept for from now on.
    package mutating func give(back count: Int) -> ArraySlice<UInt64> {
        let next = queue.prefix(count)
        queue.removeFirst(next.count)
        queued.subtract(next)
        kept.formUnion(next)
        free += count - next.count
        return next
    }

    /// Forgets an upload that has ended.
    ///
    /// - Returns: as `give`.
    package mutating func end(_ upload: UInt64) -> ArraySlice<UInt64> {
        if queued.remove(upload) != nil { queue.removeAll { $0 == upload } }
        return kept.remove(upload) == nil ? [] : give(back: 1)
    }
}
