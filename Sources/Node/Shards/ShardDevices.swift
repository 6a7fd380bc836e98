import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A shard's answers to queries for devices and for the notifications of a device.
extension ShardMachine {
    /// Refuses to register more devices than a user may have; all other mutations pass.
    mutating func checkDeviceCount(
        for mutation: Mutation, over target: Document?, in world: ShardWorld
    ) throws(ShardFailure) {
        guard mutation.key.kind == .device, mutation.action is any DeviceAddition,
            target?.device?.isRegistered != true
        else {
            return
        }
        let devices = DevicesQuery(of: mutation.user)
        let count = try reading(in: world) { source throws(ShardFailure) in
            try devices.find(for: Viewer(mutation.user), in: &source).count
        }
        guard count < ChatLimits.devicesMax else { throw .refused(.tooManyDevices) }
    }

    /// Returns the registered devices of all users of this shard, ascending.
    mutating func registeredDevices(
        in world: ShardWorld
    ) throws(ShardFailure) -> [RegisteredDevice] {
        let shard = replica.shard
        let keys = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .device, carrying: Term.registered, in: shard, partition: nil)
        }
        var devices: [RegisteredDevice] = []
        for key in keys.sorted() {
            guard let user = UserID(key.partition),
                let device = try find(key, in: world)?.document.device,
                let registered = device.registered(as: DeviceID(checked: key.id), of: user)
            else { continue }
            devices.append(registered)
        }
        return devices
    }

    /// Returns the state of this shard's messages that a device was shown, and the oldest messages
    /// of the shard of which the device has to be notified.
    ///
    /// - Parameter pending: the messages that wait for the disk, by conversation.
    mutating func candidates(
        _ query: DueQuery, without senders: BlockedSenders, among pending: [String: [Document]],
        in world: ShardWorld
    ) throws(ShardFailure) -> [NotificationCandidate] {
        var due: [NotificationCandidate] = []
        var areAll = true
        // The dots of messages that were sent more than once, since an entry has only one dot.
        var sendings = Vector()
        let shown = try shownCandidates(
            query, without: senders, sendings: &sendings, in: world)
        if query.countMax > 0 {
            for id in try conversations(of: query.rule.user, in: world) {
                due += try dueCandidates(
                    query, in: id, without: senders, among: pending[id.text] ?? [],
                    areAll: &areAll,
                    sendings: &sendings, world)
            }
        }
        let oldest = NotificationCandidate.oldest(of: due, query.countMax)
        areAll = areAll && oldest.count == due.count
        return shown
            + oldest.map { areAll ? $0.sparing(sendings) : $0.consideringItselfOnly }
    }

    /// - Parameter sendings: receives the dots of messages that were sent more than once.
    private mutating func shownCandidates(
        _ query: DueQuery, without senders: BlockedSenders, sendings: inout Vector,
        in world: ShardWorld
    ) throws(ShardFailure) -> [NotificationCandidate] {
        var candidates: [NotificationCandidate] = []
        for shown in query.shown {
            let key = DocumentKey.message(shown.message, in: shown.conversation)
            guard key.shard(of: shardCount) == replica.shard,
                let document = try find(key, in: world)?.document, let message = document.message,
                let dot = document.sendings.first,
                !query.rule.isDone(
                    with: document.sendings, sentAt: message.header.sent.time)
            else { continue }
            sendings.insertSeveral(document.sendings)
            let isShown = try isShown(document, in: shown.conversation, to: query.rule.user, world)
            guard let isShown else { continue }
            candidates.append(
                NotificationCandidate(
                    of: senders.shown(message), isShown: isShown && !senders.hides(message),
                    // The dot may be of another sending than the sending that the device was shown.
                    entry: ListedNotification(
                        dot: dot, conversation: shown.conversation, message: shown.message,
                        at: message.header.sent.time, among: SeqSet())))
        }
        return candidates
    }

    /// Returns whether a user may see a message and has not read it; nil, which withdraws no
    /// notification, if the conversation document that contains the user has not arrived.
    private mutating func isShown(
        _ document: Document, in conversation: ConversationID, to user: UserID,
        _ world: ShardWorld
    ) throws(ShardFailure) -> Bool? {
        guard let chat = try find(.conversation(conversation), in: world)?.document.conversation,
            let message = document.message
        else { return nil }
        guard chat.participants.contains(user) else {
            return chat.participants.removed.contains(user) ? false : nil
        }
        let participantState = try find(.participantState(user, in: conversation), in: world)?
            .document.participantState
        let readTo = chat.readPosition(of: user, in: participantState)
        return message.isShown(to: user, among: chat.participants)
            && !document.isSent(within: chat.hiddenVector(of: user, in: participantState))
            && !document.isRead(upTo: readTo)
    }

    /// Returns the oldest messages of a conversation of which the device may be notified, up to the
    /// capacity of its list.
    ///
    /// - Parameters:
    ///   - areAll: set to false if the conversation may have more messages for notifications.
    ///   - sendings: receives the dots of messages that were sent more than once.
    private mutating func dueCandidates(
        _ query: DueQuery, in conversation: ConversationID, without senders: BlockedSenders,
        among pending: [Document], areAll: inout Bool, sendings: inout Vector, _ world: ShardWorld
    ) throws(ShardFailure) -> [NotificationCandidate] {
        guard let chat = try find(.conversation(conversation), in: world)?.document.conversation,
            chat.participants.contains(query.rule.user)
        else { return [] }
        let participantState = try find(
            .participantState(query.rule.user, in: conversation), in: world)?.document
            .participantState
        let hidden = chat.hiddenVector(of: query.rule.user, in: participantState)
        let shown = Set(query.shown.lazy.filter { $0.conversation == conversation }.map(\.message))
        let (minimum, vector) = (query.rule.minimum(in: chat), replica.current.vector)
        let settled = query.rule.acknowledged.dots(after: minimum)
        // If this is false, a message may have arrived before its conversation or an invitation,
        // and was then not examined.
        let isComplete = replica.isCausallyComplete(now: world.milliseconds)
        var candidates: [NotificationCandidate] = []
        var bytes = 0
        let user = query.rule.user
        let readTo = chat.readPosition(of: user, in: participantState)
        let start =
            [HistoryPosition(before: HybridTimestamp(bits: minimum.bits + 1)), readTo]
            .compactMap(\.self).max() ?? HistoryPosition(before: .zero)
        try survey(
            Survey(
                HistoryPage(.after(start), limit: .max), of: conversation, among: pending),
            in: world
        ) { run in
            senders.hidden(from: user, in: run) == run.counts.unread(of: user)
                || hidden.map { run.counts.areSent(within: $0) ?? false } ?? false
                || run.counts.areSent(within: settled) ?? false
        } handing: { document in
            guard let position = document.historyPosition, let message = document.message else {
                return true
            }
            let dots = document.sendings
            guard let dot = dots.first, !shown.contains(position.id),
                !document.isRead(upTo: readTo),
                !document.isSent(within: hidden), !senders.hides(message),
                query.rule.notifies(of: message, sentBy: dots, in: conversation, chat)
            else { return true }
            let entry = ListedNotification(
                dot: dot, conversation: conversation, message: position.id, at: position.time,
                among: isComplete ? vector.seqs(of: dot.replica) : SeqSet())
            let candidate = NotificationCandidate(
                of: senders.shown(message), isShown: true, entry: entry)
            // Messages with the same time are sorted again later, so all messages of that time are
            // needed.
            let isEnough =
                candidates.count >= query.countMax || bytes > NotificationCandidate.bytesMax
            if isEnough, candidates.last?.entry?.place.time != position.time {
                areAll = false
                return false
            }
            candidates.append(candidate)
            sendings.insertSeveral(dots)
            bytes += candidate.bytes
            return true
        }
        return candidates
    }
}

extension Vector {
    /// Adds the dots of a message that was sent more than once.
    mutating func insertSeveral(_ sendings: [Dot]) {
        guard sendings.count > 1 else { return }
        for dot in sendings { insert(dot) }
    }
}
