import Chat
import LineProtocol
import Wire

/// The checks of notifications in the quiet phase, on every node.
extension ClusterWorld {
    /// Adds every device, with no viewed conversation: it must be notified of all later messages.
    func preparePhones() {
        for phone in phones {
            for ringing in [ClusterRequest.Ringing.add, .view(nil)] {
                ring(ringing, of: phone, at: members[0].index)
            }
        }
    }

    func ring(_ ringing: ClusterRequest.Ringing, of phone: ClusterPhone, at index: Int) {
        let askedAt = now
        let answers = needed([request(ringing, of: phone)], of: index, as: phone.user)
        guard let answer = answers.first else { return }
        guard answer.code == nil else {
            return fail(.answered, "n\(index + 1) refuses \(answer.summary) to a device")
        }
        phone.expectations.acknowledge(ringing, askedAt: askedAt, at: now)
    }

    func checkPhones() {
        for phone in phones where finding == nil {
            var first: [ReplyLine]?
            for machine in members {
                let answers = needed(
                    [request(.list, of: phone)], of: machine.index, as: phone.user)
                guard let answer = answers.first, answer.code == nil else {
                    return fail(.answered, "n\(machine.index + 1) lists no notifications")
                }
                check(answer, for: phone, at: machine.name)
                phone.expectations.setList(messages(in: answer), at: now)
                let said = answer.data + [answer.status]
                guard let other = first, other != said else {
                    first = said
                    continue
                }
                fail(.equal, "\(machine.name) notifies \(said), \(members[0].name) \(other)")
            }
        }
    }

    private func check(_ answer: ClusterAnswer, for phone: ClusterPhone, at node: String) {
        var lines: [String: ReplyFields] = [:]
        for line in answer.lines("NOTIFICATION") {
            judge(ClusterNotification(line), of: phone)
            lines[line["message"] ?? ""] = line
        }
        for name in expectations.names where !losses.concern(name) {
            guard let message = expectations.messages[name.id] else { continue }
            let line = lines[name.id]
            if let line, let wrong = excess(line, of: message, for: phone) {
                fail(wrong.invariant, "\(node) notifies \(phone.user) of \(name.id), \(wrong.why)")
            }
            guard isDue(message, for: phone) else { continue }
            if line?["kind"] != "message" {
                fail(.kept, "\(node) does not notify \(phone.user) of \(name.id)")
            }
            coverage.count("notification due")
        }
    }

    /// Describes why a device may not be notified of a message; nil if it may.
    private func excess(
        _ line: ReplyFields, of message: ClusterMessage, for phone: ClusterPhone
    ) -> (invariant: Invariant, why: String)? {
        let id = message.name.id
        if phone.expectations.acknowledged.contains(id) {
            return (.oneChange, "which was taken off")
        }
        if phone.expectations.wasViewing(message) ?? false {
            guard phone.expectations.mayBeListedBlindly(message) else {
                return (.sound, "which it was viewing")
            }
            coverage.count("notified of what it viewed, by who had not heard of that")
        }
        if phone.expectations.isSurelyAdded(after: message) {
            return (.sound, "which was sent before the device was added")
        }
        if message.isAcknowledged(.retracted), line["kind"] == "message" {
            return (.deleted, "which is deleted for everyone")
        }
        if line["kind"] == "message", isSurelyRead(message, by: phone.user) {
            return (.sound, "which is read")
        }
        return nil
    }

    /// Whether a device must certainly be notified of a message.
    func isDue(_ message: ClusterMessage, for phone: ClusterPhone) -> Bool {
        message.sender != phone.user && message.isAcknowledged(.sent)
            && !message.isRetractionAsked && !message.hidesAsked.contains(phone.user)
            && phone.expectations.isSurelyAdded(before: message)
            && phone.expectations.wasViewing(message) == false
            && !phone.expectations.mayBeAcknowledged(message)
            && !phone.expectations.mayBePassedOver(message) && !mayBeRead(message, by: phone.user)
    }

    /// Whether a user may have read a message: they have asked to mark it, or one that may be
    /// behind it in the history, as one is that was sent again where nobody knew it.
    func mayBeRead(_ message: ClusterMessage, by user: String) -> Bool {
        messages(in: message.name.conversation).contains { other in
            other.readsAsked.contains(user)
                && (other.name.id == message.name.id || other.attempts > 1
                    || other.answeredAt.map {
                        $0 + ClusterWorld.stampsApartMicroseconds >= message.askedAt ?? 0
                    } ?? true)
        }
    }

    /// Whether a user has certainly read a message: their mark is at it, or at one that is
    /// certainly behind it.
    private func isSurelyRead(_ message: ClusterMessage, by user: String) -> Bool {
        let state = DocumentKey.participantState(
            UserID(checked: user), in: ConversationID(checked: message.name.conversation))
        guard let answeredAt = message.answeredAt, !losses.keys.contains(state),
            !losses.conversations.contains(message.name.conversation)
        else { return false }
        return messages(in: message.name.conversation).contains { other in
            other.readsAnswered.contains(user) && other.attempts == 1
                && !losses.concern(other.name)
                && (other.name.id == message.name.id
                    || answeredAt + ClusterWorld.stampsApartMicroseconds < other.askedAt ?? 0)
        }
    }

    private func messages(in conversation: String) -> [ClusterMessage] {
        expectations.names.filter { $0.conversation == conversation }.compactMap {
            expectations.messages[$0.id]
        }
    }

    /// The greatest difference between the stamps of two nodes at one moment.
    private static let stampsApartMicroseconds: UInt64 = 300_000

    /// Acknowledges all notifications of every device, at the first member.
    func emptyPhones() {
        for phone in phones where finding == nil {
            guard let last = phone.expectations.list.last else { continue }
            ring(.acknowledge(last.id), of: phone, at: members[0].index)
        }
    }

    /// Checks that no node lists an acknowledged notification.
    func checkPhonesAreEmpty() {
        for phone in phones {
            for machine in members where finding == nil {
                let answers = needed(
                    [request(.list, of: phone)], of: machine.index, as: phone.user)
                let left = answers.flatMap { messages(in: $0) }.map(\.message)
                    .filter { !wasLost($0) }
                guard let first = left.first else { continue }
                fail(.oneChange, "\(machine.name) notifies \(phone.user) of \(first) once more")
            }
        }
    }
}
