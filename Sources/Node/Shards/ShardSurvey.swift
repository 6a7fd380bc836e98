import CRDT
import Chat
import Wire

/// A search through a conversation's history that skips runs whose counts are sufficient.
struct Survey {
    let conversation: ConversationID
    /// The messages to be searched, and the direction of the search.
    let page: HistoryPage
    /// The messages of the conversation that wait for the disk.
    let pending: [Document]

    init(_ page: HistoryPage, of conversation: ConversationID, among pending: [Document]) {
        self.conversation = conversation
        self.page = page
        self.pending = pending
    }

    /// The range of times that is searched; the end is not included.
    var span: (start: HybridTimestamp, end: HybridTimestamp) {
        switch page.place {
        case .newest: (.zero, .greatest)
        case .before(let bound): (.zero, HybridTimestamp(bits: bound.time.bits + 1))
        case .after(let bound): (bound.time, .greatest)
        }
    }

    /// Whether the page contains all messages of a run.
    func holds(_ run: CountedRun) -> Bool {
        switch page.place {
        case .newest: true
        case .before(let bound): run.end <= bound.time
        case .after(let bound): run.start > bound.time
        }
    }
}

extension ShardMachine {
    /// Passes the messages of a survey to `handing` in its page's direction, without the messages
    /// of runs that `passing` accepts, until `handing` returns false.
    ///
    /// The survey examines about 64 runs of each level and 64 messages, however long the history
    /// is.
    ///
    /// - Parameter passing: whether the counts of a run are enough, so that its messages are
    ///   skipped.
    mutating func survey(
        _ survey: Survey, in world: ShardWorld, passing: (CountedRun) -> Bool,
        handing: (Document) -> Bool
    ) throws(ShardFailure) {
        let (start, end) = survey.span
        let last = try runs(
            of: survey.conversation, level: 1, from: .greatest, to: .greatest, in: world
        ).last
        // Most conversations are so short that they have no runs.
        guard let last, last.end > start else {
            return try walk(
                survey.page, of: survey.conversation, among: survey.pending, in: world,
                handing: handing)
        }
        let level = CountedRun.levels.upperBound
        _ = try look(
            through: survey, from: start, to: end, level: level, in: world, passing: passing,
            handing: handing)
    }

    /// - Returns: whether the survey continues.
    private mutating func look(
        through survey: Survey, from start: HybridTimestamp, to end: HybridTimestamp,
        level: UInt8, in world: ShardWorld, passing: (CountedRun) -> Bool,
        handing: (Document) -> Bool
    ) throws(ShardFailure) -> Bool {
        guard level > 0 else {
            return try messages(of: survey, from: start, to: end, in: world, handing: handing)
        }
        var parts: [(start: HybridTimestamp, end: HybridTimestamp, run: CountedRun?)] = []
        var next = start
        let found = try runs(
            of: survey.conversation, level: level, from: start, to: end, in: world)
        for run in found {
            // Spans of time without a run are searched on the level below.
            if run.start > next { parts.append((next, run.start, nil)) }
            let isWhole = run.start >= next && run.end <= end && survey.holds(run)
            parts.append((max(next, run.start), min(end, run.end), isWhole ? run : nil))
            next = run.end
        }
        if next < end { parts.append((next, end, nil)) }
        for part in survey.page.isDescending ? parts.reversed() : parts {
            if let run = part.run, passing(run) { continue }
            let goesOn = try look(
                through: survey, from: part.start, to: part.end, level: level - 1, in: world,
                passing: passing, handing: handing)
            guard goesOn else { return false }
        }
        return true
    }

    /// - Returns: whether the survey continues.
    private mutating func messages(
        of survey: Survey, from start: HybridTimestamp, to end: HybridTimestamp,
        in world: ShardWorld, handing: (Document) -> Bool
    ) throws(ShardFailure) -> Bool {
        let place: HistoryPage.Place
        switch survey.page.place {
        case .newest where end == .greatest: place = .newest
        case .newest: place = .before(HistoryPosition(before: end))
        case .before(let bound): place = .before(min(bound, HistoryPosition(before: end)))
        case .after(let bound): place = .after(max(bound, HistoryPosition(before: start)))
        }
        var goesOn = true
        try walk(
            HistoryPage(place, limit: .max), of: survey.conversation, among: survey.pending,
            in: world
        ) { document in
            let time = document.historyTime
            guard survey.page.isDescending ? time >= start : time < end else { return false }
            goesOn = handing(document)
            return goesOn
        }
        return goesOn
    }
}

/// One user's view of a conversation: the hidden messages and the read position.
struct Reading {
    let user: UserID
    let chat: Conversation
    let readTo: HistoryPosition?
    /// The vector up to which the user has hidden the conversation.
    let hidden: Vector?
    /// The users whom the user has blocked.
    let senders: BlockedSenders

    init(
        user: UserID, chat: Conversation, readTo: HistoryPosition?, hidden: Vector?,
        without senders: BlockedSenders
    ) {
        self.user = user
        self.chat = chat
        self.readTo = readTo
        self.hidden = hidden
        self.senders = senders
    }

    init(
        user: UserID, chat: Conversation, participantState: ParticipantState?,
        without senders: BlockedSenders
    ) {
        self.init(
            user: user, chat: chat, readTo: chat.readPosition(of: user, in: participantState),
            hidden: chat.hiddenVector(of: user, in: participantState), without: senders)
    }

    /// Whether the user hides all messages of a run, or none of them; nil if messages must be read.
    func hides(_ counts: MessageCounts) -> Bool? {
        hidden.map { counts.areSent(within: $0) } ?? false
    }

    /// Returns how many of the `count` messages of a run that the user would see without blocks are
    /// visible; nil if the messages have to be read.
    func seen(_ count: Int, in run: CountedRun) -> Int? {
        senders.hidden(from: user, in: run).map { count - $0 }
    }
}

extension ShardMachine {
    /// Counts the messages that the user has not read.
    mutating func unread(
        in conversation: ConversationID, for reading: Reading, among pending: [Document],
        in world: ShardWorld
    ) throws(ShardFailure) -> Int {
        var unread = 0
        let page = HistoryPage(reading.readTo.map { .after($0) } ?? .newest, limit: .max)
        try survey(
            Survey(page, of: conversation, among: pending), in: world,
            passing: { run in
                guard let isHidden = reading.hides(run.counts) else { return false }
                guard !isHidden else { return true }
                let count = run.counts.unread(of: reading.user)
                guard let seen = reading.seen(count, in: run) else { return false }
                unread += seen
                return true
            },
            handing: { document in
                if reading.counts(document) { unread += 1 }
                return true
            })
        return unread
    }

    /// Returns the newest message that the user sees and that is not deleted for everyone.
    mutating func preview(
        of conversation: ConversationID, for reading: Reading, among pending: [Document],
        in world: ShardWorld
    ) throws(ShardFailure) -> Document? {
        try newest(
            of: conversation, for: reading, among: pending, in: world,
            passing: { reading.seen($0.counts.shown(to: reading.user), in: $0) == 0 },
            where: { reading.previews($0) })
    }

    /// Returns whether the user sees any message of a conversation, placeholders included.
    mutating func isSeen(
        _ conversation: ConversationID, for reading: Reading, among pending: [Document],
        in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        try newest(
            of: conversation, for: reading, among: pending, in: world,
            passing: { run in
                reading.senders.hidden(from: reading.user, in: run, countingRetracted: true)
                    == run.counts.seen(by: reading.user)
            },
            where: {
                !($0.message?.deletedBy.contains(reading.user) ?? true)
                    && !$0.isSent(within: reading.hidden) && !reading.senders.hides($0)
            }) != nil
    }

    /// Whether a user has sent a message in a conversation, deleted or not.
    mutating func hasSent(
        _ user: UserID, in conversation: ConversationID, _ chat: Conversation,
        among pending: [Document], in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        let reading = Reading(user: user, chat: chat, readTo: nil, hidden: nil, without: .none)
        return try newest(
            of: conversation, for: reading, among: pending, in: world,
            passing: { !$0.counts.mayHaveSendings(of: user) },
            where: { $0.message?.header.sender == user }) != nil
    }

    /// Returns the newest message that meets a condition; usually the conversation's newest.
    private mutating func newest(
        of conversation: ConversationID, for reading: Reading, among pending: [Document],
        in world: ShardWorld, passing: (CountedRun) -> Bool, where isMeant: (Document) -> Bool
    ) throws(ShardFailure) -> Document? {
        var found: Document?
        // The limit is one message, since `list` reads at least a whole page one by one.
        let page = HistoryPage(.newest, limit: 1)
        try list(page, of: conversation, among: pending, in: world) { run in
            reading.hides(run.counts) ?? false || passing(run)
        } handing: { document in
            if isMeant(document) { found = document }
            return found == nil
        }
        return found
    }

    /// The number of messages that are read one by one before runs are examined.
    private static let walkedMax = 64

    /// Passes the messages of a page to `handing`, without the messages of runs that contain
    /// nothing to be listed.
    mutating func list(
        _ page: HistoryPage, of conversation: ConversationID, among pending: [Document],
        in world: ShardWorld, passing: (CountedRun) -> Bool, handing: (Document) -> Bool
    ) throws(ShardFailure) {
        var walked = 0
        var last: HistoryPosition?
        var goesOn = true
        try walk(page, of: conversation, among: pending, in: world) { document in
            walked += 1
            last = document.historyPosition
            goesOn = handing(document)
            return goesOn && walked < max(page.limit, ShardMachine.walkedMax)
        }
        guard goesOn, let last, walked >= max(page.limit, ShardMachine.walkedMax) else { return }
        let rest = HistoryPage(
            page.isDescending ? .before(last) : .after(last), limit: page.limit)
        try survey(
            Survey(rest, of: conversation, among: pending), in: world, passing: passing,
            handing: handing)
    }
}

extension Reading {
    /// Returns whether a message after the read position counts as unread.
    func counts(_ document: Document) -> Bool {
        guard let message = document.message, message.header.sender != user,
            !document.isSent(within: hidden), !senders.hides(message)
        else { return false }
        #if PlantedBugs
            if PlantedBug.unreadNotRecomputed.isOn { return true }
        #endif
        return message.isShown(to: user, among: chat.participants)
    }

    /// Whether a message may be the preview of a conversation.
    func previews(_ document: Document) -> Bool {
        guard let message = document.message, !document.isSent(within: hidden),
            !senders.hides(message)
        else { return false }
        #if PlantedBugs
            if PlantedBug.previewIgnoresHide.isOn {
                return !message.isDeletedForEveryone(among: chat.participants)
            }
        #endif
        return message.isShown(to: user, among: chat.participants)
    }
}
