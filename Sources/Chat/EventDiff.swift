import CRDT
import Wire

/// The events that a document's change comes to.
///
/// Live, both states are known and the difference is told. Whoever was away is told what may
/// differ, as it is: then only the seqs that they know of stand for the earlier state.
extension Document {
    /// What one change came to.
    ///
    /// - Parameters:
    ///   - before: nil where it was not there.
    ///   - shown: what is on disk by the commit that holds this change and maybe others behind it:
    ///     of a text, that is what shows.
    public func announcements(
        since before: Document?, shownAs shown: Document? = nil, in surroundings: Surroundings
    ) -> [Announcement] {
        guard let conversation = ConversationID(key.partition) else { return [] }
        switch (content, before?.content) {
        case (.message(let message), nil):
            return told(message, shown, in: conversation, surroundings)?.asNew() ?? []
        case (.message(let message), .message(let old)):
            return told(message, shown, in: conversation, surroundings)?
                .differing(from: old) ?? []
        case (.seat(let seat), let old):
            var oldSeat = Seat()
            if case .seat(let seat)? = old { oldSeat = seat }
            return told(seat, in: conversation, surroundings)?.differing(from: oldSeat) ?? []
        case (.conversation(let room), nil):
            return ToldRoom(room, in: conversation, surroundings).asNew()
        case (.conversation(let room), .conversation(let old)):
            return ToldRoom(room, in: conversation, surroundings).differing(from: old)
        default:
            return ownAnnouncements(since: before)
        }
    }

    /// All that may differ from what somebody knows who has seen `known`, as it is.
    public func announcements(
        beyond known: Vector, in surroundings: Surroundings
    ) -> [Announcement] {
        #if PlantedBugs
            if PlantedBug.tokenForgetsDeletions.isOn {
                return allAnnouncements(beyond: known, in: surroundings)
                    .filter { if case .delete = $0.event.kind { false } else { true } }
            }
        #endif
        return allAnnouncements(beyond: known, in: surroundings)
    }

    private func allAnnouncements(
        beyond known: Vector, in surroundings: Surroundings
    ) -> [Announcement] {
        guard let conversation = ConversationID(key.partition) else { return [] }
        switch content {
        case .message(let message):
            guard let told = told(message, nil, in: conversation, surroundings) else { return [] }
            // Who knows one of several sendings may have been told of another one's text.
            let isKnown = known.contains(message.header.dot)
            return isKnown && sendings.allSatisfy(known.contains) ? told.asKnown() : told.asNew()
        case .seat(let seat):
            return told(seat, in: conversation, surroundings)?.asIs(beyond: known) ?? []
        case .conversation(let room):
            return ToldRoom(room, in: conversation, surroundings).asIs()
        default:
            return ownAnnouncements(since: nil, isKnown: false)
        }
    }

    private func told(
        _ message: Message, _ shown: Document?, in conversation: ConversationID,
        _ surroundings: Surroundings
    ) -> ToldMessage? {
        guard let id = MessageID(key.id), let room = surroundings.room else { return nil }
        return ToldMessage(
            id: id, message: message, shown: shown?.message ?? message, conversation: conversation,
            room: room,
            surroundings: surroundings)
    }

    private func told(
        _ seat: Seat, in conversation: ConversationID, _ surroundings: Surroundings
    ) -> ToldSeat? {
        guard let user = UserID(key.id), let room = surroundings.room else { return nil }
        return ToldSeat(
            user: user, seat: seat, conversation: conversation, room: room,
            surroundings: surroundings)
    }
}

/// A message, and how it is told of.
private struct ToldMessage {
    let id: MessageID
    let message: Message
    /// As it shows.
    let shown: Message
    let conversation: ConversationID
    let room: Conversation
    let surroundings: Surroundings

    private var participants: [UserID] { room.participants.elements }

    private func tell(
        _ kind: Event.Kind, by: UserID?, at: HybridTimestamp?, to audience: [UserID]
    ) -> [Announcement] {
        guard !audience.isEmpty else { return [] }
        let event = Event(kind, in: conversation, by: by, at: at ?? surroundings.time)
        return [Announcement(event, to: audience)]
    }

    /// It as its watchers see it, and who sees it.
    private func tellShown(
        _ kind: (MessageView) -> Event.Kind, at: HybridTimestamp?, to audience: [UserID]
    ) -> [Announcement] {
        let seers = audience.filter { !shown.deletedBy.contains($0) }
        guard let first = seers.first,
            let view = shown.view(
                as: id, for: first, among: room.participants, progress: surroundings.progress)
        else { return [] }
        return tell(kind(view), by: shown.header.sender, at: at, to: seers)
    }

    private func tellRetracted() -> [Announcement] {
        tell(
            .delete(id, isForEveryone: true), by: message.header.sender,
            at: message.retractedAt, to: participants)
    }

    /// Who deletes for everyone hides it from themselves, too: that goes without saying.
    private var hiding: [UserID] {
        message.deletedBy.elements.filter {
            participants.contains($0) && !(message.isRetracted && $0 == message.header.sender)
        }
    }

    private func tellHidden(from users: [UserID]) -> [Announcement] {
        users.flatMap { user in
            tell(
                .delete(id, isForEveryone: false), by: user, at: message.deletionTimes.added(user),
                to: [user])
        }
    }

    private var restored: [Announcement] { tellRestored(to: message.deletedBy.removed) }

    private func tellRestored(to users: [UserID]) -> [Announcement] {
        users.flatMap { user in
            guard participants.contains(user),
                let view = shown.view(
                    as: id, for: user, among: room.participants,
                    progress: surroundings.progress)
            else { return [Announcement]() }
            return tell(
                .restore(view), by: user, at: message.deletionTimes.removed(user), to: [user])
        }
    }

    private func tellEdited() -> [Announcement] {
        tellShown(Event.Kind.edit, at: message.editedAt, to: participants)
    }

    private func tellPin() -> [Announcement] {
        guard let pin = message.pin else { return [] }
        let kind: Event.Kind = pin.value.isOn ? .pin(id) : .unpin(id)
        return tell(kind, by: pin.value.user, at: pin.stamp.time, to: participants)
    }

    func asNew() -> [Announcement] {
        // Whose device knows it may have been told of its sending after the token that it carries.
        guard !message.isRetracted else {
            return tellRetracted() + tellHidden(from: hiding) + restored
        }
        return tellShown(Event.Kind.message, at: message.header.sent.time, to: participants)
            + tellHidden(from: hiding)
    }

    func differing(from old: Message) -> [Announcement] {
        var told: [Announcement] = []
        let (mine, theirs) = (Set(message.deletedBy.elements), Set(old.deletedBy.elements))
        if message.isRetracted, !old.isRetracted {
            told += tellRetracted()
        } else if !message.isRetracted, message.header.sent != old.header.sent {
            // Several executions of one sending are one.
            told += tellShown(
                Event.Kind.message, at: message.header.sent.time, to: participants)
        } else if message.versions != old.versions, !shown.isRetracted {
            told += tellEdited()
        }
        let isRetraction = message.isRetracted && !old.isRetracted
        let hiding = mine.subtracting(theirs).sorted()
        told += tellHidden(from: hiding.filter { !isRetraction || $0 != message.header.sender })
        if !message.isRetracted, message.pin != old.pin { told += tellPin() }
        var restored = theirs.subtracting(mine)
        // Restored since, in one change with the deletion as it came here: that does not go
        // without saying.
        let sender = message.header.sender
        if isRetraction, !mine.contains(sender), message.deletedBy.removed.contains(sender) {
            restored.insert(sender)
        }
        told += tellRestored(to: restored.sorted())
        return told
    }

    /// What may have become of it.
    func changes() -> [Announcement] {
        guard !message.isRetracted else { return [] }
        return (message.versions.isEmpty ? [] : tellEdited()) + tellPin()
    }

    func asKnown() -> [Announcement] {
        (message.isRetracted ? tellRetracted() : changes()) + tellHidden(from: hiding) + restored
    }
}

/// A seat, and how it is told of.
private struct ToldSeat {
    let user: UserID
    let seat: Seat
    let conversation: ConversationID
    let room: Conversation
    let surroundings: Surroundings

    private func tell(
        _ kind: Event.Kind, at time: HybridTimestamp?, to audience: [UserID]
    ) -> Announcement {
        Announcement(
            Event(kind, in: conversation, by: user, at: time ?? surroundings.time), to: audience)
    }

    private func tellMarks(from old: Seat) -> [Announcement] {
        guard room.participants.contains(user) else { return [] }
        let everybody = room.participants.elements
        var told: [Announcement] = []
        if seat.read != old.read, let mark = room.mark(of: user, in: seat.read) {
            told.append(tell(.read(mark.position.id), at: mark.at, to: everybody))
        }
        if seat.delivered != old.delivered, let mark = room.mark(of: user, in: seat.delivered) {
            told.append(tell(.delivered(mark.position.id), at: mark.at, to: everybody))
        }
        return told
    }

    private func tellArchived() -> Announcement {
        let times = seat.archiveTimes
        return seat.isArchived
            ? tell(.archive, at: times.added(user), to: [user])
            : tell(.unarchive, at: times.removed(user), to: [user])
    }

    func differing(from old: Seat) -> [Announcement] {
        var told = tellMarks(from: old)
        if seat.isArchived != old.isArchived { told.append(tellArchived()) }
        if let hidden = room.hidden(by: user, in: seat), hidden != old.hidden {
            told.append(tell(.hide, at: hidden.at, to: [user]))
        }
        return told
    }

    /// As it is; a hiding that is in `known` is not told again, since what came later shows.
    func asIs(beyond known: Vector) -> [Announcement] {
        var told: [Announcement] = []
        if let hidden = room.hidden(by: user, in: seat),
            !(hidden.dot.map(known.contains) ?? false)
        {
            told.append(tell(.hide, at: hidden.at, to: [user]))
        }
        told += tellMarks(from: Seat())
        if seat.isArchived || !seat.archivedBy.removed.isEmpty { told.append(tellArchived()) }
        return told
    }
}

/// A conversation, and how it is told who is in it.
private struct ToldRoom {
    let room: Conversation
    let conversation: ConversationID
    let time: HybridTimestamp

    init(_ room: Conversation, in conversation: ConversationID, _ surroundings: Surroundings) {
        self.room = room
        self.conversation = conversation
        time = surroundings.time
    }

    private func tellAdded(_ users: [UserID], to audience: [UserID]) -> [Announcement] {
        users.map { user in
            let invitation = room.lastInvitation(of: user)
            let event = Event(
                .member(user, isIn: true), in: conversation,
                by: invitation?.by ?? room.header.creator,
                at: invitation?.stamp.time ?? room.header.created.time)
            return Announcement(event, to: audience)
        }
    }

    private func tellLeft(_ users: [UserID], to audience: [UserID]) -> [Announcement] {
        users.map { user in
            let event = Event(
                .member(user, isIn: false), in: conversation, by: user,
                at: room.departureTimes.removed(user) ?? time)
            return Announcement(event, to: audience)
        }
    }

    func asNew() -> [Announcement] {
        tellAdded(room.participants.elements, to: room.participants.elements)
    }

    func differing(from old: Conversation) -> [Announcement] {
        let (mine, theirs) = (Set(room.participants.elements), Set(old.participants.elements))
        let audience = mine.union(theirs).sorted()
        return tellAdded(mine.subtracting(theirs).sorted(), to: audience)
            + tellLeft(theirs.subtracting(mine).sorted(), to: audience)
    }

    func asIs() -> [Announcement] {
        let gone = room.participants.removed
        let audience = Set(room.participants.elements).union(gone).sorted()
        return tellAdded(room.participants.elements, to: audience) + tellLeft(gone, to: audience)
    }
}
