import Foundation

/// The members of the first event of a stream.
private struct Greeting: Decodable {
    var token: String
    var stream: String?
    var editWindow: Double?
    var now: ExactTime?
}

// MARK: Events

extension Core {
    /// The most events that one step takes in: what the user does meanwhile waits for it.
    static let eventsMax = 500

    /// Takes in what happens to an event stream.
    ///
    /// - Parameter since: the token that the stream was opened with.
    func receive(_ event: StreamEvent, of stream: Int, since: String?) {
        switch event {
        case .answered(200): break
        case .answered(let status):
            take(nil) { (step: inout Step, _) throws(StoreError) in
                if status == 401 { step.machines.refusedToken = step.machines.signIn.accessToken }
                if status == 400, since != nil, step.machines.token == since {
                    try self.doubt(&step)
                }
                step.follow(step.machines.link.streamEnded(stream, now: step.now))
            }
        case .ended: end(stream)
        case .events(let events):
            // No event, after a comment or a part of one, is a sign of life.
            for start in stride(from: 0, to: max(events.count, 1), by: Self.eventsMax) {
                let some = events[start..<min(start + Self.eventsMax, events.count)]
                do {
                    try step { (step: inout Step) throws(StoreError) in
                        try self.apply(some, of: stream, isResumed: since != nil, &step)
                    }
                } catch {
                    return end(stream)  // The events come again, from the stored token on.
                }
            }
        }
    }

    private func end(_ stream: Int) {
        take(nil) { (step: inout Step, _) in
            step.follow(step.machines.link.streamEnded(stream, now: step.now))
        }
    }

    private func apply(
        _ events: ArraySlice<EventStreamReader.Event>, of stream: Int, isResumed: Bool,
        _ step: inout Step
    ) throws(StoreError) {
        guard step.machines.link.isPresent(stream) else { return }
        step.machines.link.streamHeard(stream, now: step.now)
        let token = step.machines.token
        for (event, fields) in zip(events, decoded(events)) {
            switch event.name {
            case "watching": try begin(event, of: stream, isResumed: isResumed, &step)
            case "heartbeat", "level":
                if let now = fields?.at { step.machines.time.note(now: now, elapsed: step.now) }
                if event.name == "level" { step.machines.link.streamCaughtUp(stream) }
            case "typing": if let fields { note(typing: fields, &step) }
            default: if let fields { try apply(fields, &step) }
            }
            if let id = event.id, event.name != "watching" { step.machines.token = id }
        }
        guard step.machines.token != token else { return }
        // Before the node has caught up, its tokens may not include those of its earlier streams.
        let isCaughtUp = step.machines.link.state == .online
        step.machines.sessionTokens.noteLast(of: isCaughtUp ? step.machines.streamName : nil)
        step.turn.add(.token(step.machines.token))
        step.turn.add(.sessionTokens(step.machines.sessionTokens))
    }

    /// Decodes the events of a step as one list, which takes a third of the time.
    private func decoded(_ events: ArraySlice<EventStreamReader.Event>) -> [Fields?] {
        let decoder = JSONDecoder()
        let list = "[" + events.map(\.data).joined(separator: ",") + "]"
        do {
            return try decoder.decode([Fields?].self, from: Data(list.utf8))
        } catch {
            return events.map { event in
                do {
                    return try decoder.decode(Fields.self, from: Data(event.data.utf8))
                } catch {
                    return nil  // An event of a later version.
                }
            }
        }
    }

    private func begin(
        _ event: EventStreamReader.Event, of stream: Int, isResumed: Bool, _ step: inout Step
    ) throws(StoreError) {
        let body = Response(status: 200, body: Data(event.data.utf8))
        guard let greeting = body.object(Greeting.self) else { return }
        step.machines.link.streamOpened(stream, now: step.now)
        connectedAt = step.machines.outbox.operations.isEmpty ? nil : step.now
        step.machines.streamName = greeting.stream
        if let window = greeting.editWindow { editWindow = window / 1_000 }
        if let now = greeting.now { step.machines.time.note(now: now, elapsed: step.now) }
        let isResumed = isResumed && step.machines.token != nil
        if !isResumed {
            step.machines.token = greeting.token
            step.machines.sessionTokens = SessionTokens()
        }
        if !isResumed || !step.machines.isLoaded {
            step.machines.reads.need(.lists, now: step.now - Reads.gathering)
        }
        for id in opened { needHistory(of: try step.turn.conversation(id), &step) }
    }

    private func note(typing fields: Fields, _ step: inout Step) {
        guard let conversation = fields.conversation, let by = fields.by, by != user else { return }
        step.machines.typing.note(
            fields.on ?? false, by: by, in: conversation, now: step.now)
        step.tell(.typing(conversation: conversation))
    }

    /// Merges what an event tells, and notes what it tells only in part.
    private func apply(_ event: Fields, _ step: inout Step) throws(StoreError) {
        if let at = event.at { step.machines.time.note(shown: at, elapsed: step.now) }
        guard var update = event.update(for: user) else { return }
        switch update {
        case .item: step.tell(.items)
        case .profile(let record):
            // An event of a resumed stream may lack the times of a profile's values.
            if event.nameChanged == nil { need(profiles: [record.user], &step, anew: true) }
            step.tell(.profiles)
        case .message(var record, let id):
            let conversation = try step.turn.conversation(id)
            let known = try step.turn.message(record.id, in: id)
            let isSure = known.map { $0.content == nil || $0.epoch >= conversation.epoch }
            if conversation.isCleared(record.sent), isSure != true {
                // It is shown only if an answer has it.
                step.machines.reads.need(.history(id), now: step.now)
                return try needRow(of: id, &step)
            }
            if record.deleted != nil, known?.content == nil {
                // The user may have deleted it before: it is shown only if an answer has it.
                record.content = nil
                update = .message(record, conversation: id)
                needHistory(of: conversation, &step)
            }
        default: break
        }
        let isNew = try step.turn.merge(update)
        if !isNew {
            log(.debug, "event kind=\(event.kind ?? "") message=\(event.id ?? "") not_new", &step)
        }
        if case .message(let record, let id) = update {
            try arrived(record, in: id, isNew: isNew, &step)
        }
        try noteStale(event, &step)
    }

    private func arrived(
        _ record: MessageRecord, in id: String, isNew: Bool, _ step: inout Step
    ) throws(StoreError) {
        guard isNew, let sender = record.content?.sender, sender != user else { return }
        step.machines.typing.note(false, by: sender, in: id, now: step.now)
        let isCatchingUp = step.machines.link.state == .catchingUp
        step.tell(.arrived(message: record.id, conversation: id, isCatchingUp: isCatchingUp))
        try noteReceived(record, in: id, &step)
    }

    /// Notes what is to be read again, since an event tells it only in part.
    private func noteStale(_ event: Fields, _ step: inout Step) throws(StoreError) {
        guard let id = event.conversation else { return }
        let conversation = try step.turn.conversation(id)
        switch event.kind {
        case "archive", "unarchive", "delivered": return
        case "hide":
            needHistory(of: conversation, &step)
            return try needRow(of: id, &step)
        case "member":
            needHistory(of: conversation, &step)
            return try needRow(of: id, &step)
        case "pin":
            if let message = event.id, try step.turn.message(message, in: id)?.content == nil {
                step.machines.reads.need(.pins(id), now: step.now)
            }
        case "read" where event.by != user: return
        default: break
        }
        // The number of unread messages is known after the row's last message, and where all
        // messages since the user's mark are.
        let read = try step.turn.mark(of: user, in: id)?.read?.sent ?? .zero
        let isOld = (event.sent ?? .zero) <= conversation.row?.lastSent ?? .zero
        let isKnown = conversation.isComplete(after: read) && event.id != conversation.row?.last
        // An answer that is under way may have the message without what the event tells of it.
        let isLate = event.kind != "message" && step.machines.reads.isRowUnderWay(id)
        guard conversation.row == nil || isOld && !isKnown || !isOld && isLate else { return }
        try needRow(of: id, &step)
    }

    /// Has the row of a conversation read, also if the app ends before.
    func needRow(
        of id: String, _ step: inout Step, pause: Int64 = 0
    ) throws(StoreError) {
        var record = try step.turn.conversation(id)
        if !record.isStale {
            record.isStale = true
            step.turn.set(record)
        }
        step.machines.reads.need(.row(id), now: step.now + pause)
    }

    /// Has the messages of a conversation read, if they were before, or are shown.
    func needHistory(of conversation: ConversationRecord, _ step: inout Step) {
        guard conversation.completeFrom != nil || opened.contains(conversation.id) else { return }
        step.machines.reads.need(.history(conversation.id), now: step.now)
    }

    /// Has the state read anew, since the cluster does not know the token of the last event.
    private func doubt(_ step: inout Step) throws(StoreError) {
        step.machines.doubts += 1
        step.machines.token = nil
        step.machines.sessionTokens = SessionTokens()
        step.machines.isLoaded = false
        step.machines.reads.clear()
        step.turn.add(.token(nil))
        step.turn.add(.sessionTokens(SessionTokens()))
        step.turn.add(.loaded(false))
        step.turn.add(.deleteItems)
        for var record in try store.conversations() {
            record.doubt()
            step.turn.set(record)
            needHistory(of: record, &step)
        }
    }
}
