import Foundation

/// A conversation as one user sees it: what is confirmed, and over it what the user has done here
/// that no node has accepted.
///
/// It is a pure function of both, so that an operation which is taken back leaves everything else
/// as it is.
struct Overlay {
    let user: String
    let conversation: ConversationRecord
    let marks: [MarkRecord]
    /// The operations of the conversation that wait, in their order.
    var operations: [Operation]
    /// What is known of the participants, by id.
    var profiles: [String: ProfileRecord] = [:]
    /// The time of the message up to which the user has read, as far as no node knows it.
    var ownMark: ExactTime?
    /// Milliseconds by which this device's time is ahead of the nodes'.
    var deviceLead: Int64 = 0
    /// The time after its sending within which a message can be edited, in seconds.
    var editWindow: TimeInterval = Message.editWindow

    /// A message with the operations of the user laid over it.
    struct Laid {
        var record: MessageRecord
        /// The number of the operation that sends the message, if none has sent it yet.
        var waits: UInt64?
    }

    /// Returns the overlay without the operations on other messages than these.
    func limited(to messages: Set<String>) -> Overlay {
        var limited = self
        limited.operations = operations.filter { operation in
            operation.action.message.map(messages.contains) ?? true
        }
        return limited
    }

    /// Returns the messages that the user sees with the operations over them, in order; those that
    /// wait are last.
    ///
    /// - Parameter records: the confirmed messages from ``ConversationRecord/completeFrom`` on, in
    ///   any order.
    func laid(_ records: [MessageRecord]) -> [Laid] {
        shown(of: records).sorted(by: Self.precedes)
    }

    /// Returns the pinned messages that the user sees, the one that was pinned last first.
    func pins(_ records: [MessageRecord]) -> [Message] {
        let pinned = shown(of: records).filter { $0.record.pinnedBy != nil }
        return messages(
            pinned.sorted { ($0.record.pin.time ?? .zero) > ($1.record.pin.time ?? .zero) })
    }

    /// Whether the user has archived the conversation.
    var isArchived: Bool {
        operations.reduce(conversation.archived.value.isSet) { isArchived, operation in
            switch operation.action {
            case .archive: true
            case .unarchive: false
            default: isArchived
            }
        }
    }

    /// Returns the conversation as the list of chats shows it: nil if the list does not.
    ///
    func listed(_ tail: Tail) -> Conversation? {
        var row = conversation.row
        var isCleared = false
        for operation in operations {
            switch operation.action.consequence(at: time(of: operation), user: user) {
            case .cleared(_, _, hasLeft: true, _): return nil
            case .cleared: isCleared = true
            case .created(let made, _): row = row ?? made
            default: break
            }
        }
        guard var row, !isCleared || !tail.isEmpty else { return nil }
        if isCleared {
            // What is counted in the row of a chat that the user has hidden is hidden.
            row.lastSent = nil
            row.unread = 0
        }
        let last = lastMessage(row, tail)
        let (start, told) = unreadStart(row)
        return Conversation(
            id: conversation.id, title: row.title ?? "", participantIds: row.participants,
            participantNames: profiles.compactMapValues(\.name.value.text),
            participantPhotos: profiles.compactMapValues(\.photo.value.text),
            lastMessage: last, unreadCount: told + tail.unread(start), isArchived: isArchived,
            archivedBy: isArchived ? [user] : [], createdBy: row.createdBy ?? "",
            createdAt: local(row.created), updatedAt: last.timestamp ?? local(row.created))
    }

    /// Returns the newest message that was not deleted for everyone.
    private func lastMessage(_ row: ConversationRecord.Row, _ tail: Tail) -> LastMessage {
        let last = tail.last
        let hasAll = conversation.completeFrom == .zero
        let isOlder = last.map {
            $0.waits == nil && ($0.record.sent ?? .zero) < row.lastSent ?? .zero
        }
        if let last, isOlder == false || hasAll || tail.isLastKnown {
            return LastMessage(
                text: preview(last.record), senderId: last.record.content?.sender ?? "",
                timestamp: last.record.sent.map(local))
        }
        if hasAll { return .nothing }
        return LastMessage(
            text: row.lastText ?? LastMessage.nothing.text, senderId: row.lastFrom ?? "",
            timestamp: row.lastSent.map(local))
    }

    private func preview(_ record: MessageRecord) -> String {
        switch record.content?.kind {
        case MessageType.image: "Photo"
        case MessageType.voice: "Voice message"
        default: record.text.value
        }
    }

    /// Returns the time after which messages of others are unread, and the number of unread ones up
    /// to then.
    ///
    /// A node's number stands for the messages up to the row's last one, unless all since the one
    /// that was read are known.
    func unreadStart(_ row: ConversationRecord.Row) -> (time: ExactTime, told: Int) {
        let told = marks.first { $0.user == user }?.read?.sent ?? .zero
        let read = max(told, ownMark ?? .zero)
        let last = row.lastSent ?? .zero
        let isKnown = conversation.isComplete(after: read) || read >= last
        return isKnown ? (read, 0) : (last, row.unread)
    }

    /// What the list of chats shows of the messages of a conversation.
    struct Tail {
        /// The newest message that was not deleted for everyone.
        let last: Laid?
        /// Whether the user sees no message.
        let isEmpty: Bool
        /// Whether the message is known that is the last one of the row.
        let isLastKnown: Bool
        /// Returns the number of messages of others after a time.
        let unread: (ExactTime) -> Int
    }

    /// Returns what the list shows of messages.
    ///
    /// - Parameters:
    ///   - shown: what ``laid(_:)`` makes of the records.
    ///   - records: the confirmed messages from ``ConversationRecord/completeFrom`` on.
    func tail(_ shown: [Laid], of records: [MessageRecord]) -> Tail {
        let last = conversation.row?.last
        return Tail(
            last: shown.last { $0.record.deleted == nil }, isEmpty: shown.isEmpty,
            isLastKnown: records.contains { $0.id == last && $0.content != nil },
            unread: { time in
                shown.count {
                    $0.record.content?.sender != user && $0.record.deleted == nil
                        && ($0.record.sent ?? .zero) > time
                }
            })
    }

    /// The confirmed messages with operations laid over them, in the order of the records.
    private struct Layers {
        private(set) var all: [Laid]
        private var places: [String: Int] = [:]

        /// - Parameter isFound: whether messages will be looked for by their ids.
        init(_ records: [MessageRecord], isFound: Bool) {
            all = records.map { Laid(record: $0) }
            if isFound { notePlaces() }
        }

        private mutating func notePlaces() {
            places = Dictionary(
                zip(all.map(\.record.id), all.indices), uniquingKeysWith: { first, _ in first })
        }

        subscript(id: String) -> Laid? { places[id].map { all[$0] } }

        mutating func put(_ laid: Laid) {
            if let place = places[laid.record.id] {
                all[place] = laid
            } else {
                places[laid.record.id] = all.count
                all.append(laid)
            }
        }

        mutating func keep(where isKept: (Laid) -> Bool) {
            all = all.filter(isKept)
            notePlaces()
        }
    }

    /// Returns the messages that the user sees, with the operations laid over them.
    private func shown(of records: [MessageRecord]) -> [Laid] {
        var layers = Layers(records, isFound: !operations.isEmpty)
        for operation in operations { lay(operation, over: &layers) }
        return layers.all.filter { $0.record.content != nil && !$0.record.isHidden(for: user) }
    }

    private func lay(_ operation: Operation, over layers: inout Layers) {
        switch operation.action {
        case .leave: layers.keep { _ in false }
        case .hide(_, let through):
            // What waits is later than what was seen, whatever this device's clock says.
            layers.keep { $0.waits != nil || ($0.record.sent ?? .zero) > (through ?? .zero) }
        case .send(_, let message, _) where layers[message]?.record.content == nil:
            let update = operation.action.consequence(at: time(of: operation), user: user)
            guard case .message(var record, _) = update else { return }
            if let part = layers[message]?.record { record.merge(part) }
            layers.put(Laid(record: record, waits: operation.number))
        default:
            guard let message = operation.action.message, var known = layers[message] else {
                return
            }
            let update = operation.shown(
                over: known.record.lastChange, user: user, deviceLead: deviceLead)
            guard case .message(let record, _) = update else { return }
            known.record.merge(record)
            layers.put(known)
        }
    }

    private func time(of operation: Operation) -> ExactTime {
        operation.time(deviceLead: deviceLead)
    }

    private static func precedes(_ left: Laid, _ right: Laid) -> Bool {
        switch (left.waits, right.waits) {
        case (nil, nil):
            (left.record.sent ?? .zero, left.record.id)
                < (right.record.sent ?? .zero, right.record.id)
        case (nil, _): true
        case (_, nil): false
        case (let mine?, let theirs?): mine < theirs
        }
    }

    /// Returns what the user sees of messages.
    func messages(_ laid: [Laid]) -> [Message] {
        var readership = Readership(
            marks: marks, participants: conversation.row?.participants ?? [])
        return laid.map { message($0, &readership) }
    }

    private func message(_ laid: Laid, _ readership: inout Readership) -> Message {
        let record = laid.record
        let sender = record.content?.sender ?? ""
        let sent = record.sent ?? .zero
        let reach = readership.reach(ofMessageBy: sender, at: sent)
        var message = Message(
            id: record.id, conversationId: conversation.id, senderId: sender,
            text: record.deleted == nil ? record.text.value : Message.deletedText,
            createdAt: local(sent))
        message.senderName = profiles[sender]?.name.value.text ?? ""
        message.senderPhoto = profiles[sender]?.photo.value.text
        message.type = record.content?.kind ?? .text
        message.isDeletedForEveryone = record.deleted != nil
        message.editedAt = record.editedAt.map(local)
        message.pinnedBy = record.pinnedBy
        message.isPinned = record.pinnedBy != nil
        message.pinnedAt = record.pinnedBy == nil ? nil : record.pin.time.map(local)
        message.readBy = reach.readBy
        message.deliveredTo = reach.deliveredTo
        message.isRead = reach.isRead
        message.readAt = reach.readAt.map(local)
        message.isDelivered = reach.isDelivered
        message.deliveredAt = reach.deliveredAt.map(local)
        message.actionItemId = record.content?.item
        message.fileId = record.content?.blob
        message.previewId = record.content?.preview
        message.editableUntil = local(sent).addingTimeInterval(editWindow)
        message.status = status(of: laid, sender: sender, reach)
        return message
    }

    private func status(
        of laid: Laid, sender: String, _ reach: Readership.Reach
    ) -> MessageStatus {
        if laid.waits != nil { return .waiting }
        guard sender == user else { return .sent }
        return reach.isRead ? .read : reach.isDelivered ? .delivered : .sent
    }

    /// Returns a time of nodes as this device's clock shows it.
    private func local(_ time: ExactTime) -> Date {
        Date(ExactTime(milliseconds: time.milliseconds + deviceLead, counter: time.counter))
    }
}
