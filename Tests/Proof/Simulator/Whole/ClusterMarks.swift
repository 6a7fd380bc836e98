import Chat
import LineProtocol
import Wire

/// Pins and read marks: requested in some runs, and announced to watchers.
extension ClusterWorld {
    /// The percentage of requests that concern marks, in those runs.
    private static let marksPercent = 12

    /// Draws a request that concerns marks; nil in most cases.
    func markRequest(_ client: ClusterClient) -> ClusterRequest? {
        guard plan.setsMarks, markRandom.chance(percent: ClusterWorld.marksPercent),
            !expectations.names.isEmpty
        else { return nil }
        let isRead = markRandom.chance(percent: 50)
        let name = markRandom.pick(Array(expectations.names.suffix(isRead ? 12 : 3)))
        let place = "\(name.conversation) \(name.id) \(client.user)"
        guard !isRead else {
            expectations.noteRead(of: name, by: client.user)
            return ClusterRequest(
                .read(name), "READ \(name.conversation) \(client.user) \(name.id)")
        }
        let isOn = markRandom.chance(percent: 65)
        expectations.notePin(of: name, by: client.user, isOn: isOn)
        return ClusterRequest(.pin(isOn: isOn), (isOn ? "PIN " : "UNPIN ") + place)
    }

    /// Checks that a request caused an event about a pin or a read mark.
    func judgeMark(_ event: ReplyFields, _ kind: String) {
        let (id, by) = (event["id"] ?? "", event["by"])
        guard let message = expectations.messages[id],
            event["conversation"] == message.name.conversation
        else { return fail(.sound, "a \(kind) of \(id), which was never sent there") }
        let isCaused =
            switch kind {
            case "pin": by.map(message.pinsAsked.contains) ?? false
            case "unpin": message.isUnpinAsked
            default: by.map(message.readsAsked.contains) ?? false
            }
        if !isCaused { fail(.sound, "a \(kind) of \(id) by \(by ?? "nobody"), never asked for") }
    }

    /// Checks that each of the user's watchers that watched from the beginning knows everybody's
    /// read marks as a node shows them.
    ///
    /// - Parameter lines: the complete `HISTORY`.
    func checkMarks(
        told user: String, in conversation: String, _ lines: [ReplyFields], node: String
    ) {
        guard plan.setsMarks, !losses.conversations.contains(conversation) else { return }
        for watcher in watchers where watcher.user == user && watcher.dueFrom == 0 {
            for index in 0..<plan.clients {
                let reader = ClusterClient.user(index)
                let participantState = DocumentKey.participantState(
                    UserID(checked: reader), in: ConversationID(checked: conversation))
                guard !losses.keys.contains(participantState) else { continue }
                let mark = watcher.expectations.marks[conversation]?[reader]
                guard let wrong = fault(in: lines, as: reader, hasReadTo: mark) else { continue }
                fail(.reads, "\(user) watches, and was told that \(wrong) on \(node)")
            }
        }
    }

    private func fault(
        in lines: [ReplyFields], as reader: String, hasReadTo mark: String?
    ) -> String? {
        var place = -1
        if let mark {
            // A message that was sent twice is listed at its first sending, whichever one was
            // marked.
            guard let message = expectations.messages[mark], message.attempts == 1,
                !losses.concern(message.name),
                let found = lines.firstIndex(where: { $0["id"] == mark })
            else { return nil }
            place = found
        }
        for (index, line) in lines.enumerated()
        where line["from"] != reader && !line.isTrue("deletedForEveryone") {
            let readers = (line["readBy"] ?? "").split(separator: ",")
            guard readers.contains(Substring(reader)) != (index <= place) else { continue }
            return "\(reader) has read to \(mark ?? "nothing"), and \(line["id"] ?? "") is read by "
                + (line["readBy"] ?? "nobody")
        }
        coverage.count(mark == nil ? "nothing read" : "read as told")
        return nil
    }
}
