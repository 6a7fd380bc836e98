@testable import GrapevineClient

// MARK: Events

extension ModelNode {
    /// The event that tells a user of a change, or nil.
    func event(of change: ModelChange, for user: String) -> ModelJSON? {
        guard !isOverridden(change) else { return nil }
        var event = bare(change.kind.rawValue, change)
        let isOwn = change.by == user
        switch change.kind {
        case .create:
            guard change.users.contains(user) else { return nil }
            event["kind"] = .text("member")
            event["user"] = .text(user)
            event["change"] = .text("added")
            return event
        case .leave:
            guard creation(of: change.conversation)?.users.contains(user) == true else {
                return nil
            }
            event["kind"] = .text("member")
            event["user"] = .text(change.by)
            event["change"] = .text("left")
            return event
        case .hide:
            event["at"] = lastHiding(change.conversation, user).map(ModelJSON.Value.time)
            return isOwn ? event : nil
        case .archive, .unarchive: return isOwn ? event : nil
        case .read, .delivered: return markEvent(change, for: user)
        default: break
        }
        guard let message = message(change.id, in: change.conversation, for: user),
            !message.isCleared
        else { return nil }
        event["id"] = .text(change.id)
        event["sent"] = .time(message.at)
        switch change.kind {
        case .delete:
            event["for"] = .text("me")
            return isOwn ? event : nil
        case .retract: return retraction(event)
        case .pin, .unpin: return event
        case .restore where !isOwn: return nil
        case .edit where message.deletedAt != nil || message.isHidden: return nil
        default:
            return whole(message, event, at: change.kind == .message ? message.at : change.at)
        }
    }

    private func bare(_ kind: String, _ change: ModelChange) -> ModelJSON {
        ModelJSON([
            "kind": .text(kind), "conversation": .text(change.conversation),
            "by": .text(change.by), "at": .time(change.at),
        ])
    }

    private func retraction(_ event: ModelJSON) -> ModelJSON {
        var event = event
        event["kind"] = .text("delete")
        event["for"] = .text("everyone")
        return event
    }

    private func whole(
        _ message: ModelMessage, _ event: ModelJSON, at time: ExactTime
    ) -> ModelJSON {
        var told = message.json
        for name in ["kind", "conversation", "by", "id", "sent"] { told[name] = event[name] }
        told["at"] = .time(time)
        return told
    }

    private func markEvent(_ change: ModelChange, for user: String) -> ModelJSON? {
        guard isMember(user, of: change.conversation) else { return nil }
        let mark = marks(change.conversation).first {
            $0.user == change.by && $0.kind == change.kind
        }
        guard let mark, mark.message == change.id else { return nil }
        return event(of: mark, in: change.conversation)
    }

    private func event(of mark: ModelMark, in conversation: String) -> ModelJSON {
        ModelJSON([
            "kind": .text(mark.kind.rawValue), "conversation": .text(conversation),
            "by": .text(mark.user), "at": .time(mark.at), "id": .text(mark.message),
            "sent": .time(mark.sent),
        ])
    }

    private func message(
        _ id: String, in conversation: String, for user: String
    ) -> ModelMessage? {
        messages(conversation, user).first { $0.id == id }
    }

    /// Whether a later change of the same kind has arrived before.
    private func isOverridden(_ change: ModelChange) -> Bool {
        guard let rivals = change.kind.rivals else { return false }
        return log.contains { other in
            other.id == change.id && other.conversation == change.conversation
                && rivals.contains(other.kind) && other.at > change.at
                && (rivals.contains(.pin) || other.by == change.by)
        }
    }
}

// MARK: What was missed

extension ModelNode {
    /// The events of what has changed since a vector, each thing once as it is by then.
    func replay(since vector: [Int], for user: String) -> [ModelJSON] {
        let missed = log.filter { $0.number > vector[$0.node] }
        var events: [ModelJSON] = []
        var done: Set<String> = []
        for change in missed {
            if [.create, .hide, .leave].contains(change.kind) {
                if let event = event(of: change, for: user) { events.append(event) }
            } else if done.insert(key(of: change)).inserted {
                events += replayed(change, missed, for: user)
            }
        }
        return events
    }

    private func key(of change: ModelChange) -> String {
        if change.kind.isMark { return "\(change.kind) \(change.by) \(change.conversation)" }
        return change.id.isEmpty ? "archive \(change.by) \(change.conversation)" : change.id
    }

    private func replayed(
        _ change: ModelChange, _ missed: [ModelChange], for user: String
    ) -> [ModelJSON] {
        if change.kind.isMark {
            guard isMember(user, of: change.conversation) else { return [] }
            return marks(change.conversation)
                .filter { $0.user == change.by && $0.kind == change.kind }
                .map { event(of: $0, in: change.conversation) }
        }
        if change.id.isEmpty {
            let last = lastArchiving(change.conversation, user)
            return change.by == user
                ? [last.flatMap { event(of: $0, for: user) }].compactMap(\.self) : []
        }
        guard let message = message(change.id, in: change.conversation, for: user),
            !message.isCleared
        else { return [] }
        let kinds = Set(
            missed.filter { $0.id == message.id && !$0.kind.isMark }.map(\.kind))
        return events(of: message, changed: kinds, in: change.conversation, for: user)
    }

    private func events(
        of message: ModelMessage, changed kinds: Set<ModelChange.Kind>, in conversation: String,
        for user: String
    ) -> [ModelJSON] {
        var event = ModelJSON([
            "conversation": .text(conversation), "id": .text(message.id),
            "sent": .time(message.at), "by": .text(message.from),
        ])
        var events: [ModelJSON] = []
        let isNew = kinds.contains(.message)
        if let at = message.deletedAt {
            event["at"] = .time(at)
            events.append(retraction(event))
        } else if !message.isHidden, isNew || message.edited != nil {
            event["kind"] = .text(isNew ? "message" : "edit")
            let edited = isNew ? nil : message.edited
            events.append(whole(message, event, at: edited ?? message.at))
        }
        if let pin = last(of: message.id, [.pin, .unpin]), message.deletedAt == nil,
            !isNew || pin.kind == .unpin, let told = self.event(of: pin, for: user)
        {
            events.append(told)
        }
        return events + hiding(of: message, event, for: user)
    }

    /// The event of the user's last deletion of a message, or of its end.
    private func hiding(
        of message: ModelMessage, _ event: ModelJSON, for user: String
    ) -> [ModelJSON] {
        let changes = log.filter { $0.id == message.id && $0.by == user }
            .filter { $0.kind == .delete || $0.kind == .restore }
        guard let last = changes.max(by: { ($0.at, $0.node) < ($1.at, $1.node) }) else {
            return []
        }
        var event = event
        event["by"] = .text(user)
        event["at"] = .time(last.at)
        event["kind"] = .text(last.kind.rawValue)
        if last.kind == .restore { return [whole(message, event, at: last.at)] }
        if message.deletedAt != nil, message.from == user { return [] }
        event["for"] = .text("me")
        return [event]
    }

    private func last(of id: String, _ kinds: Set<ModelChange.Kind>) -> ModelChange? {
        log.filter { $0.id == id && kinds.contains($0.kind) }
            .max { ($0.at, $0.node) < ($1.at, $1.node) }
    }
}
