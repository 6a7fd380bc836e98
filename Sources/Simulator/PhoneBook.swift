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

    /// Notifications that were taken off, or may have been.
    struct TakingOff {
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
    private var viewings: [Viewing] = []
    /// As the last answer listed them, oldest first: ids, each with its message.
    private(set) var list: [(id: String, message: String)] = []
    /// Every message that an answer listed.
    private var listed: Set<String> = []
    /// When lists were asked for of which no answer came.
    private var lostListsAt: [UInt64] = []
    /// When lists were asked for that were maybe made by who did not know all that it had viewed.
    private var blindListsAt: [UInt64] = []
    private var takings: [TakingOff] = []
    /// Messages of which it was acknowledged that they were taken off.
    private(set) var takenOff: Set<String> = []
    /// What was last asked to be taken off.
    var lastTakenOff: Set<String> { takings.last?.before ?? [] }
    /// When some of what its nodes knew of it was last lost with a disk.
    private var lostAt: UInt64 = 0

    // MARK: What is asked

    mutating func ask(_ request: WholeRequest.Ringing, at now: UInt64) {
        switch request {
        case .add: addingSince = addingSince ?? now
        case .view(let conversation):
            viewings.append(Viewing(conversation: conversation, askedAt: now))
        case .remove: break
        case .list: lostListsAt.append(now)
        case .takeOff(let id):
            let end = list.firstIndex { $0.id == id }.map { $0 + 1 } ?? list.count
            takings.append(
                TakingOff(
                    askedAt: now, before: Set(list[..<end].map(\.message)),
                    behind: Set(list[end...].map(\.message))))
        }
    }

    /// The last request is acknowledged.
    mutating func acknowledge(
        _ request: WholeRequest.Ringing, askedAt: UInt64, at now: UInt64
    ) {
        guard askedAt > lostAt else { return }
        switch request {
        case .add: addedAt = addedAt ?? now
        case .view: if !viewings.isEmpty { viewings[viewings.count - 1].answeredAt = now }
        case .list, .remove: break
        case .takeOff: takenOff.formUnion(lastTakenOff)
        }
    }

    mutating func take(_ list: [(id: String, message: String)]) {
        self.list = list
        listed.formUnion(list.map(\.message))
        if !lostListsAt.isEmpty { lostListsAt.removeLast() }
    }

    mutating func forgetList() { list = [] }

    /// A list is asked for while not every disk has the same of what the device views.
    mutating func noteBlindList(at now: UInt64) { blindListsAt.append(now) }

    /// Some of what nodes knew of the device is gone.
    mutating func lose(at now: UInt64) {
        lostAt = now
        addedAt = nil
        takenOff = []
        // Who has the device anew has not listed this, and so takes nothing of it off.
        list = []
        viewings.append(Viewing(conversation: nil, askedAt: now, isAnything: true))
    }

    /// It is not there: what was acknowledged of it was lost, or it was never added.
    mutating func noteMissing() { addedAt = nil }

    // MARK: What may be due

    /// Whether a message was maybe passed over, since who made a list took it for viewed: what is
    /// listed behind it takes it off, and that is final.
    func mayBePassedOver(_ message: WholeMessage) -> Bool {
        guard let last = takings.last, let answeredAt = message.answeredAt else { return false }
        let end = answeredAt + PhoneBook.apartMicroseconds
        let conversation = message.name.conversation
        return blindListsAt.contains { $0 >= message.askedAt ?? 0 && $0 <= last.askedAt }
            && viewings.contains { viewing in
                viewing.askedAt <= end
                    && (viewing.isAnything || viewing.conversation == conversation)
            }
    }

    /// Whether a message may have been taken off, by what was asked so far.
    func mayBeTakenOff(_ message: WholeMessage) -> Bool {
        let id = message.name.id
        return takings.contains { taking in
            guard !taking.before.contains(id) else { return true }
            guard !taking.behind.contains(id) else { return false }
            return listed.contains(id)
                || lostListsAt.contains { $0 >= message.askedAt ?? 0 && $0 <= taking.askedAt }
        }
    }

    /// Whether a message was surely sent after the device was added.
    func isSurelyAdded(before message: WholeMessage) -> Bool {
        addedAt.map { (message.askedAt ?? 0) > $0 + PhoneBook.apartMicroseconds } ?? false
    }

    /// Whether a message was surely sent before anybody asked for the device.
    func isSurelyAdded(after message: WholeMessage) -> Bool {
        guard let answeredAt = message.answeredAt else { return false }
        return addingSince.map { answeredAt + PhoneBook.apartMicroseconds < $0 } ?? true
    }

    /// Whether the device surely showed a message's conversation when that was sent, or surely did
    /// not; nil where it cannot be told.
    func wasViewing(_ message: WholeMessage) -> Bool? {
        guard let answeredAt = message.answeredAt else { return nil }
        let end = answeredAt + PhoneBook.apartMicroseconds
        // Those that surely held before it was sent: whatever they surely followed does not count.
        let settled = viewings.filter {
            $0.answeredAt.map { $0 + PhoneBook.apartMicroseconds < message.askedAt ?? 0 } ?? false
        }
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
}
