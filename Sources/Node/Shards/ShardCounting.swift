import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The maintenance of a shard's counted runs.
///
/// A message that follows all others changes no stored run; one in 64 such messages ends a run,
/// which is then stored. A deleted, restored or late message changes stored runs: one row on each
/// level.
extension ShardMachine {
    /// The greatest number of messages that are read to count a run.
    private static let messagesReadMax = 1_024

    /// Updates the counts for a message that was just stored in memory.
    ///
    /// - Parameter isNewest: whether the message is later than all earlier documents of the shard.
    mutating func count(
        _ document: Document, replacing old: Document?, isNewest: Bool, in world: ShardWorld
    ) {
        guard document.key.kind == .message else { return }
        let conversation = ConversationID(checked: document.key.partition)
        #if PlantedBugs
            if PlantedBug.countsNotUpdated.isOn, old != nil { return }
        #endif
        do throws(ShardFailure) {
            if let old, old.historyTime == document.historyTime {
                try recount(document, replacing: old, in: conversation, world)
            } else {
                if let old { try add(old, to: conversation, times: -1, in: world) }
                try insert(document, in: conversation, isNewest: isNewest, world)
            }
        } catch {
            // If the disk cannot be read, the process ends; if a message is damaged, it is set
            // aside together with the conversation's runs.
            counts[tail: conversation] = nil
        }
    }

    private mutating func recount(
        _ document: Document, replacing old: Document, in conversation: ConversationID,
        _ world: ShardWorld
    ) throws(ShardFailure) {
        var before = MessageCounts()
        before.add(old)
        var after = MessageCounts()
        after.add(document)
        // If nothing that is counted has changed, no run has to be looked up.
        guard before != after else { return }
        try add(old, to: conversation, times: -1, in: world)
        try add(document, to: conversation, times: 1, in: world)
    }

    private mutating func insert(
        _ document: Document, in conversation: ConversationID, isNewest: Bool,
        _ world: ShardWorld
    ) throws(ShardFailure) {
        let time = document.historyTime
        let level = CountedRun.level(at: time, fanOutBits: counts.fanOutBits)
        if isNewest, level == 0 { return counts.append(document, to: conversation) }
        let end = try tail(of: conversation, in: world).ends[0]
        guard time >= end else {
            try add(document, to: conversation, times: 1, in: world)
            try split(conversation, at: time, upTo: level, in: world)
            return
        }
        guard level > 0, time > end else { return counts.append(document, to: conversation) }
        try endRuns(
            of: conversation, before: document, upTo: level, isNewest: isNewest, in: world)
        counts.append(document, to: conversation)
    }

    /// Adds a message to the runs that contain its time, or to the counts after the last run.
    private mutating func add(
        _ document: Document, to conversation: ConversationID, times sign: Int,
        in world: ShardWorld
    ) throws(ShardFailure) {
        let time = document.historyTime
        let ends = try tail(of: conversation, in: world).ends
        guard time < ends[0] else {
            if var tail = counts[tail: conversation] {
                tail.counts?.add(document, times: sign)
                counts[tail: conversation] = tail
            }
            return
        }
        for level in CountedRun.levels where time < ends[Int(level) - 1] {
            guard var run = try run(of: conversation, level: level, at: time, in: world) else {
                continue
            }
            run.counts.add(document, times: sign)
            counts.put(run, at: CountedRunKey(conversation, level: level, start: run.start))
        }
    }

    /// Ends the last run of each level up to `level` at a message that follows all runs.
    private mutating func endRuns(
        of conversation: ConversationID, before document: Document, upTo level: UInt8,
        isNewest: Bool, in world: ShardWorld
    ) throws(ShardFailure) {
        let time = document.historyTime
        var tail = try tail(of: conversation, in: world)
        for level in 1...level {
            let start = tail.ends[Int(level) - 1]
            tail.ends[Int(level) - 1] = time
            var counted: MessageCounts?
            if level == 1 {
                let rest =
                    try isNewest ? MessageCounts() : self.counted(behind: document, in: world)
                if let all = tail.counts, let rest { counted = all.without(rest) }
                tail.counts = rest
            }
            if counted == nil {
                counted = try self.counted(
                    conversation, from: start, to: time, below: level, in: world)
            }
            // A run that could not be counted is not stored: readers count its messages one by one.
            guard let counted else { continue }
            let run = CountedRun(from: start, to: time, counted)
            counts.put(run, at: CountedRunKey(conversation, level: level, start: start))
        }
        counts[tail: conversation] = tail
    }

    /// Counts the messages that were sent no earlier than `document`, without `document` itself.
    ///
    /// Only few messages are counted if `document` is slightly late.
    ///
    /// - Returns: nil if `messagesReadMax` or more messages would have to be read.
    private mutating func counted(
        behind document: Document, in world: ShardWorld
    ) throws(ShardFailure) -> MessageCounts? {
        guard let conversation = ConversationID(document.key.partition) else { return nil }
        return try counted(
            conversation, from: document.historyTime, to: .greatest, below: 1,
            besides: document.key, in: world)
    }

    /// Splits each run that contains a time into two runs; the second run begins at that time.
    private mutating func split(
        _ conversation: ConversationID, at time: HybridTimestamp, upTo level: UInt8,
        in world: ShardWorld
    ) throws(ShardFailure) {
        guard level > 0 else { return }
        for level in 1...level {
            guard var rest = try run(of: conversation, level: level, at: time, in: world),
                rest.start < time,
                let first = try counted(
                    conversation, from: rest.start, to: time, below: level, in: world)
            else { continue }
            rest.counts.add(first, times: -1)
            counts.put(
                CountedRun(from: rest.start, to: time, first),
                at: CountedRunKey(conversation, level: level, start: rest.start))
            counts.put(
                CountedRun(from: time, to: rest.end, rest.counts),
                at: CountedRunKey(conversation, level: level, start: time))
        }
    }

    /// Returns the counts of a span; nil if too many messages would have to be read, or if runs of
    /// the level below are missing.
    private mutating func counted(
        _ conversation: ConversationID, from start: HybridTimestamp, to end: HybridTimestamp,
        below level: UInt8, besides passed: DocumentKey? = nil, in world: ShardWorld
    ) throws(ShardFailure) -> MessageCounts? {
        var sum = MessageCounts()
        guard level > 1 else {
            var left = ShardMachine.messagesReadMax
            let page = HistoryPage(.after(HistoryPosition(before: start)), limit: .max)
            let pending = pendingMessages(of: conversation)
            try walk(page, of: conversation, among: pending, in: world) {
                guard $0.historyTime < end else { return false }
                left -= 1
                if $0.key != passed { sum.add($0) }
                return left > 0
            }
            return left > 0 ? sum : nil
        }
        var next = start
        for run in try runs(of: conversation, level: level - 1, from: start, to: end, in: world) {
            guard run.start == next, run.end <= end else { return nil }
            sum.add(run.counts)
            next = run.end
        }
        return next == end ? sum : nil
    }

    /// Returns the ends of a conversation's last runs, by level.
    private mutating func tail(
        of conversation: ConversationID, in world: ShardWorld
    ) throws(ShardFailure) -> ShardCounts.Tail {
        if let tail = counts[tail: conversation] { return tail }
        var ends: [HybridTimestamp] = []
        for level in CountedRun.levels {
            // If a level has no runs, no higher level has runs.
            guard ends.last != .zero else {
                ends.append(.zero)
                continue
            }
            let last = try runs(
                of: conversation, level: level, from: .greatest, to: .greatest, in: world
            ).last
            ends.append(last?.end ?? .zero)
        }
        let tail = ShardCounts.Tail(ends: ends, counts: nil)
        counts[tail: conversation] = tail
        return tail
    }

    private mutating func run(
        of conversation: ConversationID, level: UInt8, at time: HybridTimestamp,
        in world: ShardWorld
    ) throws(ShardFailure) -> CountedRun? {
        let next = HybridTimestamp(bits: time.bits + 1)
        return try runs(of: conversation, level: level, from: time, to: next, in: world).first
    }

    /// Returns the runs of a level that overlap a span, ascending; if the span begins at
    /// `.greatest`, only the last run.
    mutating func runs(
        of conversation: ConversationID, level: UInt8, from start: HybridTimestamp,
        to end: HybridTimestamp, in world: ShardWorld
    ) throws(ShardFailure) -> [CountedRun] {
        let shard = replica.shard
        let isLast = start == .greatest
        var found = try read { () throws(StoreFailure) in
            try world.reader.countedRuns(
                of: conversation, in: shard, level: level, from: start, to: end)
        }
        let pending = counts.runs(of: conversation, level: level)
        if !pending.isEmpty {
            let changed = Set(pending.map(\.start))
            found = (found.filter { !changed.contains($0.start) } + pending)
                .sorted { $0.start < $1.start }
        }
        if isLast { return found.suffix(1) }
        return found.filter { $0.start < end && $0.end > start }
    }
}

extension HistoryPosition {
    /// Creates the position before all messages with this time.
    init(before time: HybridTimestamp) {
        self.init(time: time, id: MessageID(checked: ""))
    }
}

extension HybridTimestamp {
    /// A time that is greater than the time of any document.
    static let greatest = HybridTimestamp(bits: UInt64(Int64.max))
}
