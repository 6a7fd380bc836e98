/// The permits to store a part of a file: a fixed number for all uploads together, because each
/// part takes several times its size in memory until it is stored.
///
/// An upload that finds no free permit waits in a FIFO queue for the next one.
package struct PartPlaces: Sendable {
    private var free: Int
    /// The uploads that wait for a permit, the longest waiting first, and the same uploads as a
    /// set.
    private var queue: [UInt64] = []
    private var queued: Set<UInt64> = []
    /// The uploads for which a permit to store a part is reserved.
    private var kept: Set<UInt64> = []

    package init(_ count: Int = AppLimits.partsAtOnceMax) { free = count }

    /// Takes a permit to store a part of an upload; false if the upload has to wait for one.
    package mutating func take(for upload: UInt64) -> Bool {
        if kept.remove(upload) != nil { return true }
        guard free == 0 else {
            free -= 1
            return true
        }
        if queued.insert(upload).inserted { queue.append(upload) }
        return false
    }

    /// Gives back permits to store parts of files, and reserves them for waiting uploads.
    ///
    /// - Returns: the uploads for which a permit is now reserved.
    package mutating func give(back count: Int) -> ArraySlice<UInt64> {
        let next = queue.prefix(count)
        queue.removeFirst(next.count)
        queued.subtract(next)
        kept.formUnion(next)
        free += count - next.count
        return next
    }

    /// Removes an upload that has ended, and passes the permit reserved for it to the next upload.
    ///
    /// - Returns: the uploads for which a permit is now reserved.
    package mutating func end(_ upload: UInt64) -> ArraySlice<UInt64> {
        if queued.remove(upload) != nil { queue.removeAll { $0 == upload } }
        return kept.remove(upload) == nil ? [] : give(back: 1)
    }
}
