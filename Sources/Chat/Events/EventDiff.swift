import CRDT
import Wire

/// The events that a change of a document causes.
///
/// A live feed has the states before and after the change, and publishes the difference. The
/// receiving node may have got a later state than the earlier one from another node. A field is
/// therefore published if its CRDT state differs, even if its value is unchanged because a change
/// and its reversal arrived together. A replay has only the version vector that the watcher has
/// seen, and publishes the present state of all fields that may differ.
extension Document {
    /// Returns the events of one change.
    ///
    /// - Parameters:
    ///   - before: the state before the change; nil if the document did not exist.
    ///   - shown: the state on disk after the commit that contains this change and possibly later
    ///     ones; the events' texts come from this state.
    public func addressedEvents(
        since before: Document?, shownAs shown: Document? = nil, in eventContext: EventContext
    ) -> [AddressedEvent] {
        guard let conversation = ConversationID(key.partition) else { return [] }
        switch (content, before?.content) {
        case (.message(let message), nil):
            return told(message, shown, in: conversation, eventContext)?.asNew() ?? []
        case (.message(let message), .message(let old)):
            return told(message, shown, in: conversation, eventContext)?
                .differing(from: old) ?? []
        case (.participantState(let participantState), let old):
            var oldParticipantState = ParticipantState()
            if case .participantState(let participantState)? = old {
                oldParticipantState = participantState
            }
            return told(participantState, in: conversation, eventContext)?.differing(
                from: oldParticipantState) ?? []
        case (.conversation(let chat), nil):
            return ToldConversation(chat, in: conversation, eventContext).asIs()
        case (.conversation(let chat), .conversation(let old)):
            return ToldConversation(chat, in: conversation, eventContext).differing(from: old)
        default:
            return ownAddressedEvents(since: before)
        }
    }

    /// Returns events with the present state of all fields that may have changed since the version
    /// vector `known`.
    public func addressedEvents(
        beyond known: Vector, in eventContext: EventContext
    ) -> [AddressedEvent] {
        #if PlantedBugs
            if PlantedBug.tokenForgetsDeletions.isOn {
                return allAddressedEvents(beyond: known, in: eventContext)
                    .filter { if case .delete = $0.event.kind { false } else { true } }
            }
        #endif
        return allAddressedEvents(beyond: known, in: eventContext)
    }

    private func allAddressedEvents(
        beyond known: Vector, in eventContext: EventContext
    ) -> [AddressedEvent] {
        guard let conversation = ConversationID(key.partition) else { return [] }
        switch content {
        case .message(let message):
            guard let told = told(message, nil, in: conversation, eventContext) else { return [] }
            // A message with several sendings is known only if all are: a watcher that has seen one
            // sending may have received the text of another.
            let isKnown = known.contains(message.header.dot)
            return isKnown && sendings.allSatisfy(known.contains) ? told.asKnown() : told.asNew()
        case .participantState(let participantState):
            return told(participantState, in: conversation, eventContext)?.asIs(beyond: known) ?? []
        case .conversation(let chat):
            return ToldConversation(chat, in: conversation, eventContext).asIs()
        default:
            return ownAddressedEvents(since: nil, isKnown: false)
        }
    }

    private func told(
        _ message: Message, _ shown: Document?, in conversation: ConversationID,
        _ eventContext: EventContext
    ) -> ToldMessage? {
        guard let id = MessageID(key.id), let chat = eventContext.chat else { return nil }
        return ToldMessage(
            id: id, message: message, shown: shown?.message ?? message, conversation: conversation,
            chat: chat,
            eventContext: eventContext)
    }

    private func told(
        _ participantState: ParticipantState, in conversation: ConversationID,
        _ eventContext: EventContext
    ) -> ToldParticipantState? {
        guard let user = UserID(key.id), let chat = eventContext.chat else { return nil }
        return ToldParticipantState(
            user: user, participantState: participantState, conversation: conversation, chat: chat,
            eventContext: eventContext)
    }
}

/// A message with the state on which its events depend.
private struct ToldMessage {
    let id: MessageID
    let message: Message
    /// The state of the message whose text the events contain.
    let shown: Message
    let conversation: ConversationID
    let chat: Conversation
    let eventContext: EventContext

    private var participants: [UserID] { chat.participants.elements }

    private func events(
        _ kind: Event.Kind, by: UserID?, at: HybridTimestamp?, to audience: [UserID]
    ) -> [AddressedEvent] {
        guard !audience.isEmpty else { return [] }
        let event = Event(
            kind, in: conversation, by: by, at: at ?? eventContext.time,
            sentAt: message.header.sent.time)
        return [AddressedEvent(event, to: audience)]
    }

    /// Returns an event with the message's view, to the users of `audience` who see the message.
    private func tellShown(
        _ kind: (MessageView) -> Event.Kind, at: HybridTimestamp?, to audience: [UserID]
    ) -> [AddressedEvent] {
        let seers = audience.filter { !shown.deletedBy.contains($0) }
        guard let first = seers.first,
            let view = shown.view(
                as: id, for: first, among: chat.participants, progress: eventContext.progress)
        else { return [] }
        return events(kind(view), by: shown.header.sender, at: at, to: seers)
    }

    private func tellRetracted(to audience: [UserID]) -> [AddressedEvent] {
        events(
            .delete(id, isForEveryone: true), by: message.header.sender,
            at: message.retractedAt, to: audience)
    }

    /// The participants who deleted the message for themselves.
    ///
    /// If the message is deleted for everyone, its sender is omitted, since that deletion implies
    /// the sender's own.
    private var hiding: [UserID] {
        message.deletedBy.elements.filter {
            participants.contains($0) && !(message.isRetracted && $0 == message.header.sender)
        }
    }

    private func tellHidden(from users: [UserID]) -> [AddressedEvent] {
        users.flatMap { user in
            events(
                .delete(id, isForEveryone: false), by: user, at: message.deletionChanged(by: user),
                to: [user])
        }
    }

    private var restored: [AddressedEvent] { tellRestored(to: message.deletedBy.removed) }

    private func tellRestored(to users: [UserID]) -> [AddressedEvent] {
        users.flatMap { user in
            guard participants.contains(user),
                let view = shown.view(
                    as: id, for: user, among: chat.participants,
                    progress: eventContext.progress)
            else { return [AddressedEvent]() }
            return events(
                .restore(view), by: user, at: message.deletionChanged(by: user), to: [user])
        }
    }

    private func tellEdited() -> [AddressedEvent] {
        tellShown(Event.Kind.edit, at: message.editedAt, to: participants)
    }

    private func tellPin() -> [AddressedEvent] {
        guard let pin = message.pin else { return [] }
        let kind: Event.Kind = pin.value.isOn ? .pin(id) : .unpin(id)
        return events(kind, by: pin.value.user, at: pin.stamp.time, to: participants)
    }

    func asNew() -> [AddressedEvent] {
        // A retracted message needs a deletion event even if its sending is new: the watcher may
        // have received the message after it saved the token that it resumes with.
        guard !message.isRetracted else {
            return tellRetracted(to: participants) + tellHidden(from: hiding) + restored
        }
        // A watcher may know the message, its pin and its deletion from another node, or from the
        // answer to a write.
        let isUnpinned = message.pin != nil && !message.isPinned
        return tellShown(Event.Kind.message, at: message.header.sent.time, to: participants)
            + (isUnpinned ? tellPin() : []) + tellHidden(from: hiding) + restored
    }

    func differing(from old: Message) -> [AddressedEvent] {
        var told: [AddressedEvent] = []
        let isRetraction = message.isRetracted && !old.isRetracted
        if isRetraction {
            told += tellRetracted(to: participants)
        } else if !message.isRetracted, message.header.sent != old.header.sent {
            // All executions of one sending have the same stamp and cause one event.
            told += tellShown(
                Event.Kind.message, at: message.header.sent.time, to: participants)
        } else if message.versions != old.versions, !shown.isRetracted {
            told += tellEdited()
        }
        let changed = message.deletedBy.changed(since: old.deletedBy).filter(participants.contains)
        told += tellHiding(changed, since: old)
        if !message.isRetracted, message.pin != old.pin { told += tellPin() }
        var restored = Set(changed).intersection(message.deletedBy.removed)
        // If the sender has deleted the message for everyone and then restored it for themselves,
        // both changes may arrive together. The deletion implies that the sender hides the message,
        // so the restore needs an event of its own.
        let sender = message.header.sender
        if isRetraction, message.deletedBy.removed.contains(sender) { restored.insert(sender) }
        told += tellRestored(to: restored.sorted())
        return told
    }

    /// Returns the events for the users among `changed` who have deleted the message for
    /// themselves.
    ///
    /// A deletion for everyone implies that the sender deletes the message for themselves. The
    /// deletion is published as one for everyone, even when it is repeated.
    private func tellHiding(_ changed: [UserID], since old: Message) -> [AddressedEvent] {
        let hiding = changed.filter(message.deletedBy.contains)
        let sender = message.header.sender
        guard message.isRetracted, hiding.contains(sender),
            !old.isRetracted || old.deletedBy.contains(sender)
        else { return tellHidden(from: hiding) }
        return tellRetracted(to: old.isRetracted ? [sender] : [])
            + tellHidden(from: hiding.filter { $0 != sender })
    }

    /// Returns the events for the edits and the pin, which may have changed since the sending.
    func changes() -> [AddressedEvent] {
        guard !message.isRetracted else { return [] }
        return (message.versions.isEmpty ? [] : tellEdited()) + tellPin()
    }

    func asKnown() -> [AddressedEvent] {
        (message.isRetracted ? tellRetracted(to: participants) : changes())
            + tellHidden(from: hiding) + restored
    }
}

/// A participant state with the state on which its events depend.
private struct ToldParticipantState {
    let user: UserID
    let participantState: ParticipantState
    let conversation: ConversationID
    let chat: Conversation
    let eventContext: EventContext

    private func event(
        _ kind: Event.Kind, at time: HybridTimestamp?, sentAt: HybridTimestamp? = nil,
        to audience: [UserID]
    ) -> AddressedEvent {
        AddressedEvent(
            Event(
                kind, in: conversation, by: user, at: time ?? eventContext.time, sentAt: sentAt),
            to: audience)
    }

    private func tellMarks(from old: ParticipantState) -> [AddressedEvent] {
        guard chat.participants.contains(user) else { return [] }
        let everybody = chat.participants.elements
        var told: [AddressedEvent] = []
        if participantState.read != old.read,
            let mark = chat.mark(of: user, in: participantState.read)
        {
            let kind = Event.Kind.read(mark.position.id)
            told.append(
                event(kind, at: mark.at, sentAt: mark.position.time, to: everybody))
        }
        if participantState.delivered != old.delivered,
            let mark = chat.mark(of: user, in: participantState.delivered)
        {
            let kind = Event.Kind.delivered(mark.position.id)
            told.append(
                event(kind, at: mark.at, sentAt: mark.position.time, to: everybody))
        }
        return told
    }

    /// Whether the user has ever archived the conversation.
    private var wasArchived: Bool {
        participantState.isArchived || !participantState.archivedBy.removed.isEmpty
    }

    private func tellArchived() -> AddressedEvent {
        event(
            participantState.isArchived ? .archive : .unarchive,
            at: participantState.archiveChanged(by: user), to: [user])
    }

    func differing(from old: ParticipantState) -> [AddressedEvent] {
        var told = tellMarks(from: old)
        if participantState.archivedBy != old.archivedBy, wasArchived {
            told.append(tellArchived())
        }
        if let hidden = chat.hidden(by: user, in: participantState), hidden != old.hidden {
            told.append(event(.hide, at: hidden.at, to: [user]))
        }
        return told
    }

    /// Returns the events of the present state.
    ///
    /// A hiding of the conversation that `known` contains is not published again, since the watcher
    /// would hide later messages, too.
    func asIs(beyond known: Vector) -> [AddressedEvent] {
        var told: [AddressedEvent] = []
        if let hidden = chat.hidden(by: user, in: participantState),
            !(hidden.dot.map(known.contains) ?? false)
        {
            told.append(event(.hide, at: hidden.at, to: [user]))
        }
        told += tellMarks(from: ParticipantState())
        if wasArchived { told.append(tellArchived()) }
        return told
    }
}

/// A conversation with the state on which its events depend.
private struct ToldConversation {
    let chat: Conversation
    let conversation: ConversationID
    let time: HybridTimestamp

    init(_ chat: Conversation, in conversation: ConversationID, _ eventContext: EventContext) {
        self.chat = chat
        self.conversation = conversation
        time = eventContext.time
    }

    private func tellAdded(_ users: [UserID], to audience: [UserID]) -> [AddressedEvent] {
        users.map { user in
            let invitation = chat.lastInvitation(of: user)
            let event = Event(
                .member(user, isIn: true), in: conversation,
                by: invitation?.by ?? chat.header.creator,
                at: chat.participationChanged(of: user) ?? time)
            return AddressedEvent(event, to: audience)
        }
    }

    private func tellLeft(_ users: [UserID], to audience: [UserID]) -> [AddressedEvent] {
        users.map { user in
            let event = Event(
                .member(user, isIn: false), in: conversation, by: user,
                at: chat.participationChanged(of: user) ?? time)
            return AddressedEvent(event, to: audience)
        }
    }

    func differing(from old: Conversation) -> [AddressedEvent] {
        let changed = chat.participants.changed(since: old.participants).filter { user in
            chat.participants.contains(user) != old.participants.contains(user)
                || chat.participationChanged(of: user) != old.participationChanged(of: user)
        }
        let audience = Set(chat.participants.elements).union(changed).sorted()
        let gone = Set(changed).intersection(chat.participants.removed).sorted()
        return tellAdded(changed.filter(chat.participants.contains), to: audience)
            + tellLeft(gone, to: audience)
    }

    func asIs() -> [AddressedEvent] {
        let gone = chat.participants.removed
        let audience = Set(chat.participants.elements).union(gone).sorted()
        return tellAdded(chat.participants.elements, to: audience) + tellLeft(gone, to: audience)
    }
}
