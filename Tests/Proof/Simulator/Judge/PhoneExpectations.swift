/// The expectations of a device's owner: which notifications the device must and may get.
///
/// All times are in microseconds.
struct PhoneExpectations {
    /// A conversation that the device reported as being viewed.
    struct Viewing {
        /// Nil if the device views no conversation.
        let conversation: String?
        let askedAt: UInt64
        /// Nil if the outcome is unknown.
        var answeredAt: UInt64?
        /// Whether any conversation may be viewed, since the state was lost.
        var isAnything = false

        /// The latest time at which the report took effect, if it ever did.
        var overBy: UInt64 { answeredAt ?? askedAt + PhoneExpectations.lateMicroseconds }
    }

    /// One request for the list of notifications.
    private struct Listing {
        let askedAt: UInt64
        /// Nil if no answer came.
        var answeredAt: UInt64?
        /// Whether every disk had the same state of what the device views.
        let isCaughtUp: Bool
        /// The numbers of the viewings that the node which made the list certainly knew.
        var known: Set<Int> = []

        /// The latest time at which the list was made, if it ever was.
        var overBy: UInt64 { answeredAt ?? askedAt + PhoneExpectations.lateMicroseconds }
    }

    /// A request to remove notifications from the list.
    struct Acknowledgement {
        let askedAt: UInt64
        /// The messages listed up to the acknowledged one (`before`), and those listed after it.
        let before: Set<String>
        let behind: Set<String>
        /// Whether one alone was acknowledged; `before` has it, and `behind` the others.
        let isAlone: Bool
    }

    /// The greatest difference between the stamps of two nodes at one moment: that of their clocks.
    private static let apartMicroseconds: UInt64 = 210_000
    /// The longest time that a request may be under way when its answer was lost.
    private static let lateMicroseconds: UInt64 = 4_000_000

    /// The time of the first request to add the device (`addingSince`), and the time since which it
    /// certainly exists (`addedAt`).
    private(set) var addingSince: UInt64?
    private(set) var addedAt: UInt64?
    /// The reports of viewings, in the order of their requests; the index is their number.
    private var viewings: [Viewing] = []
    /// The last answered list, oldest first: notification ids, each with its message.
    private(set) var list: [(id: String, message: String)] = []
    private var listings: [Listing] = []
    /// By message, the index of the first listing whose answer contained it.
    private var listed: [String: Int] = [:]
    private var takings: [Acknowledgement] = []
    /// The messages whose removal was acknowledged.
    private(set) var acknowledged: Set<String> = []
    /// The messages that the last acknowledgement removes.
    var lastAcknowledged: Set<String> { takings.last?.before ?? [] }
    /// The time at which a disk last lost some of the device's state.
    private var lostAt: UInt64 = 0

    // MARK: Requests

    /// - Parameter isCaughtUp: whether every disk has the same state of what the device views.
    mutating func ask(
        _ request: ClusterRequest.Ringing, at now: UInt64, isCaughtUp: Bool = true
    ) {
        switch request {
        case .add: addingSince = addingSince ?? now
        case .view(let conversation):
            viewings.append(Viewing(conversation: conversation, askedAt: now))
        case .remove: break
        case .list: listings.append(Listing(askedAt: now, isCaughtUp: isCaughtUp))
        case .acknowledge(let id, let isAlone):
            let end = list.firstIndex { $0.id == id }.map { $0 + 1 } ?? list.count
            let before = Set(list[(isAlone ? max(end, 1) - 1 : 0)..<end].map(\.message))
            takings.append(
                Acknowledgement(
                    askedAt: now, before: before,
                    behind: Set(list.map(\.message)).subtracting(before), isAlone: isAlone))
        }
    }

    /// Records that the last request was acknowledged.
    mutating func acknowledge(
        _ request: ClusterRequest.Ringing, askedAt: UInt64, at now: UInt64
    ) {
        guard askedAt > lostAt else { return }
        switch request {
        case .add: addedAt = addedAt ?? now
        case .view: if !viewings.isEmpty { viewings[viewings.count - 1].answeredAt = now }
        case .list, .remove: break
        case .acknowledge: acknowledged.formUnion(lastAcknowledged)
        }
    }

    /// Records the answer to the last request for a list.
    ///
    /// - Parameter known: the viewings that the node which made the list certainly knew.
    mutating func setList(
        _ list: [(id: String, message: String)], at now: UInt64, knowing known: Set<Int> = []
    ) {
        // What was asked before a loss may show what nobody knows any more.
        self.list = (listings.last?.askedAt ?? .max) > lostAt ? list : []
        guard let last = listings.indices.last else { return }
        listings[last].answeredAt = now
        listings[last].known = known
        for line in list where listed[line.message] == nil { listed[line.message] = last }
    }

    mutating func forgetList() { list = [] }

    /// The number of the last viewing that was requested.
    var lastViewing: Int? { viewings.indices.last }

    /// Records that nodes lost some of what they knew of the device.
    mutating func lose(at now: UInt64) {
        lostAt = now
        addedAt = nil
        acknowledged = []
        // A node that receives the device anew has not listed these, and so removes none of them.
        list = []
        viewings.append(Viewing(conversation: nil, askedAt: now, isAnything: true))
    }

    /// Records that the device does not exist: it was lost with a disk, or never added.
    mutating func noteMissing() { addedAt = nil }

    // MARK: Expected notifications

    /// Whether a list may have omitted a message because the node that made it considered the
    /// message viewed; an acknowledgement of a later one in the list then removes it for good.
    func mayBePassedOver(_ message: ClusterMessage) -> Bool {
        guard let last = takings.last, let answeredAt = message.answeredAt else { return false }
        let end = answeredAt + PhoneExpectations.apartMicroseconds
        let conversation = message.name.conversation
        return listings.contains { listing in
            listing.overBy >= message.askedAt ?? 0 && listing.askedAt <= last.askedAt
                && isMaybeBlind(listing, to: message)
        }
            && viewings.contains { viewing in
                viewing.askedAt <= end
                    && (viewing.isAnything || viewing.conversation == conversation)
            }
    }

    /// Whether the node that first listed a message may not have known that it was viewed; a listed
    /// notification stays until it is acknowledged.
    func mayBeListedBlindly(_ message: ClusterMessage) -> Bool {
        let first = listed[message.name.id]
        if let first, isMaybeBlind(listings[first], to: message) { return true }
        return listings[..<(first ?? listings.count)].contains { listing in
            listing.answeredAt == nil && listing.overBy >= message.askedAt ?? 0
                && isMaybeBlind(listing, to: message)
        }
    }

    /// Whether the node that made a list may not have known what was viewed when a message was
    /// sent.
    ///
    /// Knowing the last viewing that certainly held before is enough; later ones only may have
    /// held. What nodes knew of it may have been lost since then.
    private func isMaybeBlind(_ listing: Listing, to message: ClusterMessage) -> Bool {
        let last = settled(before: message).last
        if let last, isLost(last, before: listing) { return true }
        guard listing.isCaughtUp else { return last.map { !listing.known.contains($0) } ?? true }
        // An unanswered request may have been executed after viewings that were requested later.
        return listing.answeredAt == nil
            && viewings.contains { (listing.askedAt...listing.overBy).contains($0.askedAt) }
    }

    /// Whether some of the device's state was lost after a viewing and before a list was made.
    private func isLost(_ viewing: Int, before listing: Listing) -> Bool {
        viewings[viewing...].contains { $0.isAnything && $0.askedAt <= listing.overBy }
    }

    /// Whether the requests so far may have removed a message.
    func mayBeAcknowledged(_ message: ClusterMessage) -> Bool {
        let id = message.name.id
        return takings.contains { taking in
            guard !taking.before.contains(id) else { return true }
            guard !taking.isAlone, !taking.behind.contains(id) else { return false }
            return listed[id] != nil
                || listings.contains { listing in
                    listing.answeredAt == nil && listing.overBy >= message.askedAt ?? 0
                        && listing.askedAt <= taking.askedAt
                }
        }
    }

    /// Whether a message was certainly sent after the device was added.
    func isSurelyAdded(before message: ClusterMessage) -> Bool {
        addedAt.map { (message.askedAt ?? 0) > $0 + PhoneExpectations.apartMicroseconds } ?? false
    }

    /// Whether a message was certainly sent before the device was first requested.
    func isSurelyAdded(after message: ClusterMessage) -> Bool {
        guard let answeredAt = message.answeredAt else { return false }
        return addingSince.map { answeredAt + PhoneExpectations.apartMicroseconds < $0 } ?? true
    }

    /// Whether the device certainly showed a message's conversation when the message was sent
    /// (true), or certainly did not (false); nil if neither is certain.
    func wasViewing(_ message: ClusterMessage) -> Bool? {
        guard let answeredAt = message.answeredAt else { return nil }
        let end = answeredAt + PhoneExpectations.apartMicroseconds
        // A viewing that one of these certainly replaced does not count.
        let settled = settled(before: message).map { viewings[$0] }
        let possible = viewings.filter { viewing in
            viewing.askedAt <= end
                && !settled.contains {
                    $0.askedAt > viewing.overBy + PhoneExpectations.apartMicroseconds
                }
        }
        guard !possible.contains(where: \.isAnything) else { return nil }
        let conversation = message.name.conversation
        let areIn = Set(possible.map { $0.conversation == conversation })
        guard areIn.contains(true) else { return false }
        return areIn.count == 1 && !settled.isEmpty ? true : nil
    }
    /// The numbers of the viewings that certainly held before a message was sent.
    private func settled(before message: ClusterMessage) -> [Int] {
        viewings.indices.filter { number in
            viewings[number].answeredAt.map {
                $0 + PhoneExpectations.apartMicroseconds < message.askedAt ?? 0
            } ?? false
        }
    }
}
