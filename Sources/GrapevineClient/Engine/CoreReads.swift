import Foundation

/// The lists of answers.
private struct Lists: Decodable {
    var chats: [Fields]?
    var items: [Fields]?
    var messages: [Fields]?
    var marks: [Fields]?
    var profiles: [Fields]?
    /// Whether a part of the list is missing, since the nodes that have it cannot be reached.
    var partial: Bool?
    /// The place from which a list that is cut goes on.
    var next: String?
}

// MARK: Reads

extension Core {
    /// The messages of a page.
    static let pageCount = 50
    /// The most messages of an answer.
    private static let answerMax = 1_000
    /// The most profiles of an answer.
    private static let profilesMax = 50
    /// Milliseconds before lists of which a part was missing are read again.
    private static let partPause: Int64 = 5_000
    /// Milliseconds before nodes are asked again after one lacked a change.
    private static let lagPause: Int64 = 2_000

    /// Reads what was found to be stale.
    func read(_ ask: Reads.Ask) {
        do throws(StoreError) {
            switch ask.target {
            case .lists: try readLists(ask)
            case .row(let id): try readRow(id, ask)
            case .message(let message, let id): try readMessage(message, in: id, ask)
            case .history(let id):
                try judge(id, ask) { [weak self] isSure throws(StoreError) in
                    try self?.readHistory(id, ask, isSure: isSure)
                }
            case .pins(let id):
                try judge(id, ask) { [weak self] isSure throws(StoreError) in
                    try self?.readPins(id, ask, isSure: isSure)
                }
            case .profiles: try readProfiles(ask)
            }
        } catch {
            settle(ask, .failed)
        }
    }

    private func settle(_ ask: Reads.Ask, _ result: Reads.Result) {
        take(nil) { (step: inout Step, _) in
            step.machines.reads.settle(ask, result, now: step.now)
        }
    }

    /// Sends requests, and merges their answers when all have come.
    ///
    /// - Parameters:
    ///   - conversation: a conversation whose hiding makes the answers worthless.
    ///   - merge: merges the answers of which each has status 200.
    private func gather(
        _ paths: [String], _ ask: Reads.Ask, of conversation: String? = nil,
        merge: @escaping (inout Step, [Lists]) throws(StoreError) -> Void
    ) throws(StoreError) {
        let known = try conversation.flatMap { id throws(StoreError) in
            try store.conversation(id)
        }
        let (epoch, tokens) = (known?.epoch ?? 0, tokens(for: ask, and: known?.written))
        let doubts = machines.doubts
        var answers = [Lists?](repeating: nil, count: paths.count)
        var left = paths.count
        var worst = Reads.Result.told
        for (index, path) in paths.enumerated() {
            call(Request(method: .get, path: path).exact, tokens: tokens) {
                (step: inout Step, response) throws(StoreError) in
                answers[index] = response?.object()
                let result = self.result(of: response, ask)
                if result != .told { worst = result }
                left -= 1
                guard left == 0 else { return }
                let told = answers.compactMap(\.self)
                if worst == .told, told.count < paths.count { worst = .failed }
                if step.machines.doubts != doubts { worst = .failed }
                if worst == .told, let conversation,
                    try step.turn.conversation(conversation).epoch != epoch
                {
                    worst = .failed
                }
                if worst == .told { try merge(&step, told) }
                if worst == .refused, let conversation {
                    // The row tells whether anything of it is to be shown.
                    try self.needRow(of: conversation, &step)
                }
                step.machines.reads.settle(ask, worst, now: step.now)
            }
        }
    }

    private func result(of response: Response?, _ ask: Reads.Ask) -> Reads.Result {
        switch response?.status {
        case 200: .told
        case 503 where ask.isSure: .behind
        case 400 where response?.error?.isOfToken == true: ask.isSure ? .behind : .failed
        case 400, 403, 404: .refused
        default: .failed
        }
    }

    private func readLists(_ ask: Reads.Ask) throws(StoreError) {
        newerRows = []
        try gather(["/v1/chats?show=all", "/v1/items"], ask) {
            (step: inout Step, answers) throws(StoreError) in
            let rows = answers[0].chats ?? []
            for fields in rows where fields.id.map(self.newerRows.contains) == false {
                try self.merge(row: fields, isSure: ask.isSure, isListed: true, &step)
            }
            for item in answers[1].items ?? [] {
                if let record = item.itemRecord { try step.turn.merge(.item(record)) }
            }
            let isPartial = answers.contains { $0.partial == true }
            if isPartial {
                step.machines.reads.need(.lists, now: step.now + Self.partPause)
            } else if ask.isSure {
                try self.dropRows(except: Set(rows.compactMap(\.id)), &step)
                step.machines.isLoaded = true
                step.turn.add(.loaded(true))
            }
            self.need(profiles: [self.user], &step)
            step.tell(.lists)
            step.tell(.items)
        }
    }

    /// Removes the rows that a list of all chats lacks, but for those that an event has told since.
    private func dropRows(except told: Set<String>, _ step: inout Step) throws(StoreError) {
        for stored in try store.conversations()
        where !told.contains(stored.id) && !newerRows.contains(stored.id) {
            var record = try step.turn.conversation(stored.id)
            let isNewer = step.machines.reads.isStale(.row(record.id)) || record.written != nil
            guard record.row != nil, !isNewer else { continue }
            record.row = nil
            step.turn.set(record)
            try needRow(of: record.id, &step)
        }
    }

    /// Merges a row of the list of chats, unless an event has changed the chat since it was asked
    /// for: then it is read again.
    ///
    /// - Parameter isListed: whether it was read with others, and not for itself.
    private func merge(
        row fields: Fields, isSure: Bool, isListed: Bool = false, _ step: inout Step
    ) throws(StoreError) {
        guard let id = fields.id else { return }
        try note(hiddenAt: fields.hiddenAt, in: id, &step)
        var record = try step.turn.conversation(id)
        guard !step.machines.reads.isStale(.row(id)) else { return }
        if isListed, record.written != nil {
            return try needRow(of: id, &step)
        }
        // An answer from before the last hiding or leaving does not bring the chat back.
        guard isSure || record.cleared == nil || record.row != nil,
            record.isKnown(to: fields.hiddenAt)
        else {
            return try needRow(of: id, &step, pause: Self.lagPause)
        }
        record.row = fields.row
        record.isStale = !isSure
        record.archived.merge(Register(.yes, at: fields.archivedAt))
        record.archived.merge(Register(.no, at: fields.unarchivedAt))
        step.turn.set(record)
        need(profiles: record.row?.participants ?? [], &step)
    }

    /// Takes in the user's last hiding of a conversation, of which no event may tell: a new stream
    /// begins after it.
    private func note(
        hiddenAt: ExactTime?, in id: String, _ step: inout Step
    ) throws(StoreError) {
        let known = try step.turn.conversation(id).cleared ?? .zero
        guard let hiddenAt, hiddenAt > known else { return }
        try step.turn.merge(
            .cleared(hiddenAt, through: nil, hasLeft: false, conversation: id))
        needHistory(of: try step.turn.conversation(id), &step)
    }

    /// Reads a row of the list of chats.
    ///
    /// After a creation or a leaving of the user's, only the answer of a node that has it counts.
    private func readRow(_ id: String, _ ask: Reads.Ask) throws(StoreError) {
        let known = try store.conversation(id)
        let tokens = tokens(for: ask, and: known?.written)
        call(Self.row(of: id), tokens: tokens) { (step: inout Step, response) throws(StoreError) in
            let record = try step.turn.conversation(id)
            let isOfNow = record.epoch == known?.epoch ?? 0 && record.written == known?.written
            let result = isOfNow ? self.result(of: response, ask) : .failed
            if response?.error?.isOfToken == true {
                try self.forgetWritten(id, isIncluded: false, &step)
            } else if result == .told || result == .refused && response?.status != 400,
                ask.isSure || record.written == nil
            {
                try self.forgetWritten(id, &step)
                try self.take(row: response, of: id, isSure: ask.isSure, &step)
            }
            step.machines.reads.settle(ask, result, now: step.now)
        }
    }

    private static func row(of id: String) -> Request {
        Request(method: .get, path: "/v1/chats/" + encoded(id)).exact
    }

    /// Returns what an answer has to include.
    private func tokens(for ask: Reads.Ask, and written: String? = nil) -> [String] {
        ask.isSure ? machines.readTokens + [written].compactMap(\.self) : []
    }

    private func forgetWritten(
        _ id: String, isIncluded: Bool = true, _ step: inout Step
    ) throws(StoreError) {
        var record = try step.turn.conversation(id)
        guard let written = record.written else { return }
        if isIncluded { add(written, &step) }
        record.written = nil
        step.turn.set(record)
        needHistory(of: record, &step)
    }

    private func add(_ token: String, _ step: inout Step) {
        step.machines.sessionTokens.add(token)
        step.turn.add(.sessionTokens(step.machines.sessionTokens))
    }

    /// Takes in a row, or that nodes show none.
    private func take(
        row response: Response?, of id: String, isSure: Bool, _ step: inout Step
    ) throws(StoreError) {
        newerRows.insert(id)
        if response?.status == 200 {
            guard let fields: Fields = response?.object() else { return }
            return try merge(row: fields, isSure: isSure, &step)
        }
        // An event that has come since is newer than the answer.
        guard isSure, !step.machines.reads.isStale(.row(id)) else { return }
        try step.turn.remove(conversation: id)
    }

    /// Reads a message that a node has accepted an operation on, and that another one did not show:
    /// only the answer of a node that has the operation tells whether the message is gone.
    private func readMessage(
        _ message: String, in id: String, _ ask: Reads.Ask
    ) throws(StoreError) {
        guard let written = try store.message(message, in: id)?.written, ask.isSure else {
            return settle(ask, .refused)
        }
        let epoch = try store.epoch(of: id)
        let path = "/v1/conversations/" + encoded(id) + "/messages/" + encoded(message)
        let request = Request(method: .get, path: path).exact
        call(request, tokens: tokens(for: ask, and: written)) {
            (step: inout Step, response) throws(StoreError) in
            let present = try step.turn.message(message, in: id)?.written
            let isOfNow = try step.turn.conversation(id).epoch == epoch && present == written
            let result = isOfNow ? self.result(of: response, ask) : .failed
            if response?.error?.isOfToken == true {
                try step.turn.forgetWritten(message, in: id)
            } else if result == .refused {
                try step.turn.remove(message, in: id)
            } else if result == .told, let fields: Fields = response?.object(),
                let told = fields.messageRecord
            {
                self.add(written, &step)
                try step.turn.merge(.message(told, conversation: id))
            }
            step.machines.reads.settle(ask, result, now: step.now)
        }
    }

    /// Finds out whether the node knows the user's last hiding of a conversation: only then its
    /// answers tell what is visible of before.
    ///
    /// - Parameter body: makes the read, if an answer came; it gets whether what the node tells is
    ///   all that is visible.
    private func judge(
        _ id: String, _ ask: Reads.Ask, _ body: @escaping (Bool) throws(StoreError) -> Void
    ) throws(StoreError) {
        let known = try store.conversation(id)
        guard known?.hidden != nil else { return try body(ask.isSure) }
        call(Self.row(of: id), tokens: tokens(for: ask, and: known?.written)) {
            (step: inout Step, response) throws(StoreError) in
            let fields: Fields? = response?.object()
            try self.note(hiddenAt: fields?.hiddenAt, in: id, &step)
            let record = try step.turn.conversation(id)
            guard response?.status == 200, fields != nil else {
                return step.machines.reads.settle(
                    ask, self.result(of: response, ask), now: step.now)
            }
            let isKnown = record.isKnown(to: fields?.hiddenAt)
            if !isKnown { step.machines.reads.need(ask.target, now: step.now + Self.lagPause) }
            let isSure = ask.isSure && isKnown
            step.effects.append(
                .call { [weak self] in
                    do throws(StoreError) {
                        try body(isSure)
                    } catch {
                        self?.settle(ask, .failed)
                    }
                })
        }
    }

    private func readHistory(
        _ id: String, _ ask: Reads.Ask, isSure: Bool
    ) throws(StoreError) {
        let (known, kept) = (try stretch(of: id), messagesOfOperations)
        let limit = min(
            known.isEmpty ? Self.pageCount : known.count + Self.pageCount, Self.answerMax)
        let path = "/v1/conversations/" + encoded(id)
        let paths = [path + "/messages?limit=\(limit)", path + "/pins", path + "/marks"]
        try gather(paths, ask, of: id) {
            (step: inout Step, answers) throws(StoreError) in
            let messages = (answers[0].messages ?? []).compactMap(\.messageRecord)
            let isCut = messages.count >= limit || answers[0].next != nil
            let first = isCut ? messages.first?.sent ?? .zero : .zero
            let doubtful = try step.turn.merge(
                answer: messages, in: id, isSure: isSure, from: first,
                keeping: kept.union(self.messagesOfOperations))
            self.need(doubtful, in: id, &step)
            var record = try step.turn.conversation(id)
            let older = known.filter { ($0.sent ?? .zero) < first }
            let isOlderKnown = !older.isEmpty && older.allSatisfy { $0.epoch >= record.epoch }
            if record.completeFrom == nil || !isOlderKnown { record.completeFrom = first }
            step.turn.set(record)
            try self.merge(pins: answers[1], in: id, isSure: isSure, keeping: kept, &step)
            for mark in (answers[2].marks ?? []).compactMap(\.markRecord) {
                try step.turn.merge(.mark(mark, conversation: id))
            }
            if let last = messages.last(where: self.isOfOthers) {
                try self.noteReceived(last, in: id, &step)
            }
            let shown = record.row?.participants ?? []
            if shown.count < record.row?.participantCount ?? 0 {
                try self.needRow(of: id, &step)
            }
        }
    }

    private func need(_ messages: [String], in id: String, _ step: inout Step) {
        for message in messages {
            step.machines.reads.need(.message(message, conversation: id), now: step.now)
        }
    }

    private func readPins(_ id: String, _ ask: Reads.Ask, isSure: Bool) throws(StoreError) {
        let kept = messagesOfOperations
        try gather(["/v1/conversations/" + encoded(id) + "/pins"], ask, of: id) {
            (step: inout Step, answers) throws(StoreError) in
            try self.merge(pins: answers[0], in: id, isSure: isSure, keeping: kept, &step)
        }
    }

    private func merge(
        pins: Lists, in id: String, isSure: Bool, keeping kept: Set<String>,
        _ step: inout Step
    ) throws(StoreError) {
        let records = (pins.messages ?? []).compactMap(\.messageRecord)
        try step.turn.merge(
            pins: records, in: id, isSure: isSure, keeping: kept.union(messagesOfOperations))
    }

    /// The messages that waiting operations change: what an answer tells of them may be from before
    /// or between these, also where nodes accept them before it comes.
    private var messagesOfOperations: Set<String> {
        Set(machines.outbox.operations.compactMap(\.action.message))
    }

    private func readProfiles(_ ask: Reads.Ask) throws(StoreError) {
        let users = wantedProfiles.sorted().prefix(Self.profilesMax)
        guard !users.isEmpty else {
            return machines.reads.settle(ask, .told, now: clock.elapsed)
        }
        let path = "/v1/profiles?users=" + users.map(encoded).joined(separator: ",")
        try gather([path], ask) { (step: inout Step, answers) throws(StoreError) in
            for record in (answers[0].profiles ?? []).compactMap(\.profileRecord) {
                try step.turn.merge(.profile(record))
            }
            self.wantedProfiles.subtract(users)
            if !self.wantedProfiles.isEmpty {
                step.machines.reads.need(.profiles, now: step.now)
            }
            step.tell(.profiles)
            step.tell(.lists)
        }
    }

    /// Has the profiles of users read that were not asked for yet.
    func need(profiles users: [String], _ step: inout Step, anew: Bool = false) {
        let wanted = users.filter { anew || askedProfiles.insert($0).inserted }
        guard !wanted.isEmpty else { return }
        wantedProfiles.formUnion(wanted)
        step.machines.reads.need(.profiles, now: step.now)
    }

    /// Reads a page of the messages before those that are known.
    func loadEarlier(in id: String, done: @escaping (Result<Void, GrapevineError>) -> Void) {
        do throws(StoreError) {
            try loadEarlier(than: stretch(of: id).first, in: id, done)
        } catch {
            done(.failure(.notStored(error)))
        }
    }

    private func loadEarlier(
        than first: MessageRecord?, in id: String,
        _ done: @escaping (Result<Void, GrapevineError>) -> Void
    ) throws(StoreError) {
        guard let first, let sent = first.sent, let known = try store.conversation(id),
            known.completeFrom ?? .zero > .zero
        else { return done(.success(())) }
        let query = "?before=" + encoded(first.id) + "&limit=\(Self.pageCount)"
        let path = "/v1/conversations/" + encoded(id) + "/messages" + query
        // What is hidden is not brought back by a node that lacks the hiding.
        let (isSure, kept) = (known.hidden == nil, messagesOfOperations)
        request(Request(method: .get, path: path).exact, isSure: true) {
            (step: inout Step, result) throws(StoreError) in
            guard case .success(let response) = result, let lists: Lists = response.object() else {
                return step.effects.append(.call { done(result.map { _ in }) })
            }
            var record = try step.turn.conversation(id)
            if record.epoch == known.epoch, try self.stretch(of: id).first?.id == first.id {
                let messages = (lists.messages ?? []).compactMap(\.messageRecord)
                let isCut = messages.count >= Self.pageCount || lists.next != nil
                let start = isCut ? messages.first?.sent ?? sent : .zero
                let doubtful = try step.turn.merge(
                    answer: messages, in: id, isSure: isSure, from: start, to: sent,
                    keeping: kept.union(self.messagesOfOperations))
                self.need(doubtful, in: id, &step)
                record = try step.turn.conversation(id)
                record.completeFrom = start
                step.turn.set(record)
            }
            step.effects.append(.call { done(.success(())) })
        }
    }
}
