/// What the owner of a device knows of what it is to be notified of; times in microseconds.
struct PhoneBook {
    /// Something that a device said to be viewing.
    struct Viewing {
        /// Nil for none.
        let conversation: String?
        let askedAt: UInt64
        /// Nil where it is not known what became of it.
        var answeredAt: UInt64?
        /// Whether it may have been any other conversation.
        var isAnything = false

        /// When it has happened, if it ever does.
        var overBy: UInt64 { answeredAt ?? askedAt + PhoneBook.lateMicroseconds }
    }

    /// A list that was asked for.
    private struct Listing {
        let askedAt: UInt64
        /// Nil where no answer came.
        var answeredAt: UInt64?
        /// Whether every disk had the same of what the device viewed.
        let isLevel: Bool
        /// The viewings that who made it surely knew, by their numbers.
        var known: Set<Int> = []

        /// When it was made, if it ever was.
        var overBy: UInt64 { answeredAt ?? askedAt + PhoneBook.lateMicroseconds }
    }

    /// Notifications that were taken off, or may have been.
    struct Acknowledgement {
        let askedAt: UInt64
        /// Those that it meant, and those listed behind them.
        let before: Set<String>
        let behind: Set<String>
    }

    /// How far apart the stamps of two nodes may be for one moment: as far as their clocks.
    private static let apartMicroseconds: UInt64 = 210_000
    /// How long what was asked may be on its way when its answer was lost.
    private static let lateMicroseconds: UInt64 = 4_000_000

    /// When it was first asked for, and since when it surely is there.
    private(set) var addingSince: UInt64?
    private(set) var addedAt: UInt64?
    /// In the order in which they were asked for: each has its number.
    private var viewings: [Viewing] = []
    /// As the last answer listed them, oldest first: ids, each with its message.
    private(set) var list: [(id: String, message: String)] = []
    private var listings: [Listing] = []
    /// Every message that an answer listed, with the place of that listing; the first of each.
    private var listed: [String: Int] = [:]
    private var takings: [Acknowledgement] = []
    /// Messages of which it was acknowledged that they were taken off.
    private(set) var acknowledged: Set<String> = []
    /// What was last asked to be taken off.
    var lastAcknowledged: Set<String> { takings.last?.before ?? [] }
    /// When some of what its nodes knew of it was last lost with a disk.
    private var lostAt: UInt64 = 0

    // MARK: What is asked

    /// - Parameter isLevel: whether every disk has the same of what the device viewed.
    mutating func ask(
        _ request: ClusterRequest.Ringing, at now: UInt64, isLevel: Bool = true
    ) {
        switch request {
        case .add: addingSince = addingSince ?? now
        case .view(let conversation):
            viewings.append(Viewing(conversation: conversation, askedAt: now))
        case .remove: break
        case .list: listings.append(Listing(askedAt: now, isLevel: isLevel))
        case .acknowledge(let id):
            let end = list.firstIndex { $0.id == id }.map { $0 + 1 } ?? list.count
            takings.append(
                Acknowledgement(
                    askedAt: now, before: Set(list[..<end].map(\.message)),
                    behind: Set(list[end...].map(\.message))))
        }
    }

    /// The last request is acknowledged.
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

    /// The last list that was asked for is answered.
    ///
    /// - Parameter known: the viewings that who made it surely knew.
    mutating func take(
        _ list: [(id: String, message: String)], at now: UInt64, knowing known: Set<Int> = []
    ) {
        self.list = list
        guard let last = listings.indices.last else { return }
        listings[last].answeredAt = now
        listings[last].known = known
        for line in list where listed[line.message] == nil { listed[line.message] = last }
    }

    mutating func forgetList() { list = [] }

    /// The number of the last viewing that was asked for.
    var lastViewing: Int? { viewings.indices.last }

    /// Some of what nodes knew of the device is gone.
    mutating func lose(at now: UInt64) {
        lostAt = now
        addedAt = nil
        acknowledged = []
        // Who has the device anew has not listed this, and so takes nothing of it off.
        list = []
        viewings.append(Viewing(conversation: nil, askedAt: now, isAnything: true))
    }

    /// It is not there: what was acknowledged of it was lost, or it was never added.
    mutating func noteMissing() { addedAt = nil }

    // MARK: What may be due

    /// Whether a message was maybe passed over, since who made a list took it for viewed: what is
    /// listed behind it takes it off, and that is final.
    func mayBePassedOver(_ message: ClusterMessage) -> Bool {
        guard let last = takings.last, let answeredAt = message.answeredAt else { return false }
        let end = answeredAt + PhoneBook.apartMicroseconds
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

    /// Whether a message was maybe listed by who did not know that it was viewed: what was shown
    /// stays until it is taken off.
    func mayBeListedBlindly(_ message: ClusterMessage) -> Bool {
        let first = listed[message.name.id]
        if let first, isMaybeBlind(listings[first], to: message) { return true }
        return listings[..<(first ?? listings.count)].contains { listing in
            listing.answeredAt == nil && listing.overBy >= message.askedAt ?? 0
                && isMaybeBlind(listing, to: message)
        }
    }

    /// Whether who made a list maybe did not know what was viewed when a message was sent.
    ///
    /// The last viewing that surely held before is enough: what came behind it may be, too.
    private func isMaybeBlind(_ listing: Listing, to message: ClusterMessage) -> Bool {
        guard listing.isLevel else {
            return settled(before: message).last.map { !listing.known.contains($0) } ?? true
        }
        // On its way for so long, it may have been made behind what was asked for since.
        return listing.answeredAt == nil
            && viewings.contains { (listing.askedAt...listing.overBy).contains($0.askedAt) }
    }

    /// Whether a message may have been taken off, by what was asked so far.
    func mayBeAcknowledged(_ message: ClusterMessage) -> Bool {
        let id = message.name.id
        return takings.contains { taking in
            guard !taking.before.contains(id) else { return true }
            guard !taking.behind.contains(id) else { return false }
            return listed[id] != nil
                || listings.contains { listing in
                    listing.answeredAt == nil && listing.overBy >= message.askedAt ?? 0
                        && listing.askedAt <= taking.askedAt
                }
        }
    }

    /// Whether a message was surely sent after the device was added.
    func isSurelyAdded(before message: ClusterMessage) -> Bool {
        addedAt.map { (message.askedAt ?? 0) > $0 + PhoneBook.apartMicroseconds } ?? false
    }

    /// Whether a message was surely sent before anybody asked for the device.
    func isSurelyAdded(after message: ClusterMessage) -> Bool {
        guard let answeredAt = message.answeredAt else { return false }
        return addingSince.map { answeredAt + PhoneBook.apartMicroseconds < $0 } ?? true
    }

    /// Whether the device surely showed a message's conversation when that was sent, or surely did
    /// not; nil where it cannot be told.
    func wasViewing(_ message: ClusterMessage) -> Bool? {
        guard let answeredAt = message.answeredAt else { return nil }
        let end = answeredAt + PhoneBook.apartMicroseconds
        // Whatever these surely followed does not count.
        let settled = settled(before: message).map { viewings[$0] }
        let possible = viewings.filter { viewing in
            viewing.askedAt <= end
                && !settled.contains {
                    $0.askedAt > viewing.overBy + PhoneBook.apartMicroseconds
                }
        }
        guard !possible.contains(where: \.isAnything) else { return nil }
        let conversation = message.name.conversation
        let areIn = Set(possible.map { $0.conversation == conversation })
        guard areIn.contains(true) else { return false }
        return areIn.count == 1 && !settled.isEmpty ? true : nil
    }
    /// The viewings that surely held before a message was sent, by their numbers.
    private func settled(before message: ClusterMessage) -> [Int] {
        viewings.indices.filter { number in
            viewings[number].answeredAt.map {
                $0 + PhoneBook.apartMicroseconds < message.askedAt ?? 0
            } ?? false
        }
    }
}
