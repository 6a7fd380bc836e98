import Chat
import LineProtocol
import Wire

extension ClusterRequest {
    /// A request of a device or, for it, of its user.
    enum Ringing {
        case add
        case remove
        case view(String?)
        case list
        /// Acknowledges the notifications up to the one with this id, or that one alone.
        case acknowledge(String, isAlone: Bool = false)

        var name: String {
            switch self {
            case .add: "DEVICE ADD"
            case .remove: "DEVICE REMOVE"
            case .view: "VIEWING"
            case .list: "NOTIFICATIONS"
            case .acknowledge(_, let isAlone): "NOTIFIED" + (isAlone ? " only=true" : "")
            }
        }
    }
}

/// The completed actions of a device that a node may know.
struct ClusterPhoneDeeds {
    /// The messages whose notifications it has acknowledged.
    var acknowledged: Set<String> = []
    /// The viewings that it has reported, by their numbers in its expectations.
    var viewings: Set<Int> = []

    mutating func formUnion(_ other: ClusterPhoneDeeds) {
        acknowledged.formUnion(other.acknowledged)
        viewings.formUnion(other.viewings)
    }
}

/// A device that fetches its notifications from one node after another.
final class ClusterPhone {
    let index: Int
    let user: String
    let device: String
    /// The device's connection; nil if it has none.
    var visit: ClusterVisit?
    /// The token that it carries to the next connection, with the actions that the token covers.
    var token: (text: String, done: ClusterPhoneDeeds)?
    /// Whether the token covers the last list, too: a node that does not know of a list removes
    /// nothing from it.
    var isListKnown = false
    var expectations = PhoneExpectations()
    /// What the push service has received for it; nothing for a device that fetches.
    var pushed = ClusterPushed()

    init(_ index: Int, user: String) {
        self.index = index
        self.user = user
        device = "d\(index)"
    }

    var key: DocumentKey { .device(DeviceID(checked: device), of: UserID(checked: user)) }
}

/// The devices and their notifications.
extension ClusterWorld {
    func beginPhones() {
        for index in 0..<plan.phones {
            phones.append(
                ClusterPhone(index, user: ClusterClient.user(phoneRandom.below(plan.clients))))
            push(.phone(index), after: phoneRandom.between(0...200_000))
        }
    }

    // MARK: Requests

    func act(_ phone: ClusterPhone) {
        guard isOpen(for: phone.visit) else { return }
        push(.phone(phone.index), after: phoneRandom.between(5_000...150_000))
        guard let visit = phone.visit else {
            phone.visit = openVisit(to: phoneRandom.below(machines.count), as: phone.user)
            phone.visit?.phone = phone
            if !phone.isListKnown { phone.expectations.forgetList() }
            if let visit = phone.visit, let token = phone.token {
                let knowledge = ClusterToken(text: token.text, knowledge: ClusterKnowledge())
                ask([ClusterRequest(.since(knowledge), "SINCE \(token.text)")], on: visit)
            }
            return
        }
        guard !visit.hasEnded, visit.session != nil, visit.open.isEmpty else { return }
        switch phoneRandom.below(100) {
        case 0..<4: leave(visit)
        case 4..<10: endLines(of: visit)
        default: ask(nextRequests(of: phone), on: visit)
        }
    }

    private func nextRequests(of phone: ClusterPhone) -> [ClusterRequest] {
        guard phone.expectations.addedAt != nil else { return [request(.add, of: phone)] }
        switch phoneRandom.below(100) {
        case 0..<30 where !phone.expectations.list.isEmpty:
            let id = phoneRandom.pick(phone.expectations.list).id
            // By the id, so that all that is drawn stays as it is in the kept seeds.
            let isAlone = id.utf8.last.map { $0 < UInt8(ascii: "6") } ?? false
            return [
                request(.acknowledge(id, isAlone: isAlone), of: phone),
                ClusterRequest(.token, "TOKEN"),
            ]
        case 30..<42: return [request(.view(phoneRandom.pick(conversations)), of: phone)]
        case 42..<50: return [request(.view(nil), of: phone)]
        default: return [request(.list, of: phone), ClusterRequest(.token, "TOKEN")]
        }
    }

    func request(_ ringing: ClusterRequest.Ringing, of phone: ClusterPhone) -> ClusterRequest {
        var isCaughtUp = true
        if case .list = ringing {
            isCaughtUp = areViewingsCaughtUp(of: phone)
            if !isCaughtUp { coverage.count("NOTIFICATIONS while viewings differ") }
        }
        phone.expectations.ask(ringing, at: now, isCaughtUp: isCaughtUp)
        let place = "\(phone.user) \(phone.device)"
        let line =
            switch ringing {
            case .add: "DEVICE ADD \(place) token=push-\(phone.device).\(phone.pushed.token)"
            case .remove: "DEVICE REMOVE \(place)"
            case .view(let conversation): "VIEWING \(place) \(conversation ?? "")"
            case .list: "NOTIFICATIONS \(place)"
            case .acknowledge(let id, let isAlone):
                "NOTIFIED \(place) \(id)" + (isAlone ? " only=true" : "")
            }
        return ClusterRequest(.ring(ringing), line)
    }

    // MARK: Answers

    func noteRung(_ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit) {
        guard let phone = visit.phone else { return }
        switch request.kind {
        case .token:
            phone.token = answer.fields?["token"].map { token in
                var done = visit.doneBefore
                done.formUnion(visit.doneHere)
                return (token, done)
            }
            phone.isListKnown = true
        case .since:
            visit.doneBefore = phone.token?.done ?? ClusterPhoneDeeds()
        case .ring(let ringing):
            if case .acknowledge = ringing, !isListSurelyKnown(on: visit) { return }
            phone.expectations.acknowledge(ringing, askedAt: request.at, at: now)
            switch ringing {
            case .acknowledge:
                visit.doneHere.acknowledged.formUnion(phone.expectations.lastAcknowledged)
            case .view:
                phone.expectations.lastViewing.map { _ = visit.doneHere.viewings.insert($0) }
            case .list:
                let known = surelyKnown(on: visit)
                judgeList(answer, of: phone, knowing: known.acknowledged)
                phone.expectations.setList(messages(in: answer), at: now, knowing: known.viewings)
                phone.isListKnown = false
            case .add, .remove: break
            }
        default: break
        }
    }

    func noteNotRung(_ code: Int, _ request: ClusterRequest, on visit: ClusterVisit) {
        guard let phone = visit.phone else { return }
        switch request.kind {
        case .ring where code == 404: phone.expectations.noteMissing()
        // The node lacks what the token covers: the device tries another node.
        case .since: if !visit.hasEnded { endLines(of: visit) }
        default: break
        }
    }

    func messages(in answer: ClusterAnswer) -> [(id: String, message: String)] {
        answer.lines("NOTIFICATION").map { ($0["id"] ?? "", $0["message"] ?? "") }
    }

    /// Whether the owner that executed an acknowledgement certainly knew the device's list.
    ///
    /// Without a token, another owner than the one that made the list may execute it. An owner
    /// that does not know of a list removes nothing from it, so nothing counts as acknowledged.
    private func isListSurelyKnown(on visit: ClusterVisit) -> Bool {
        visit.goesForward || isAnsweredByOneOwner(visit.user, at: visit.address.machine)
    }

    /// Returns the device's actions that the node of a connection certainly knows.
    private func surelyKnown(on visit: ClusterVisit) -> ClusterPhoneDeeds {
        // While shard replicas move, possibly no node has what a token covers.
        guard !mayOwnersChange else { return ClusterPhoneDeeds() }
        var known = visit.doneBefore
        // Without a token, another owner may answer if the first is silent.
        if isAnsweredByOneOwner(visit.user, at: visit.address.machine) {
            known.formUnion(visit.doneHere)
        }
        return known
    }

    private func judgeList(
        _ answer: ClusterAnswer, of phone: ClusterPhone, knowing acknowledged: Set<String>
    ) {
        let lines = answer.lines("NOTIFICATION")
        let ids = lines.map { $0["id"] ?? "" }
        if ids != Set(ids).sorted() { fail(.sound, "NOTIFICATIONS are out of order: \(ids)") }
        let messages = lines.map { $0["message"] ?? "" }
        if Set(messages).count != messages.count {
            fail(.oneChange, "NOTIFICATIONS list a message twice: \(messages)")
        }
        for line in lines {
            coverage.count("notification \(line["kind"] ?? "")")
            judge(ClusterNotification(line), of: phone)
            let id = line["message"] ?? ""
            guard acknowledged.contains(id), phone.expectations.acknowledged.contains(id) else {
                continue
            }
            guard !wasLost(id) else {
                coverage.count("notified again of a message that was lost")
                continue
            }
            fail(.oneChange, "\(phone.user) \(phone.device) is notified of \(id) a second time")
        }
    }

    /// Whether part of a message was lost with a disk: sent again, it is another message with the
    /// same id.
    func wasLost(_ id: String) -> Bool {
        expectations.messages[id].map { losses.concern($0.name) } ?? false
    }

    /// Checks that a notification has a cause.
    func judge(_ notification: ClusterNotification, of phone: ClusterPhone) {
        let id = notification.message
        guard let message = expectations.messages[id], message.mayExist,
            message.name.conversation == notification.conversation,
            message.sender == notification.from
        else { return fail(.sound, "a notification of \(id), which was not sent so") }
        guard message.sender != phone.user else {
            return fail(.sound, "\(phone.user) is notified of \(id), which is their own")
        }
        if notification.kind == "message" { return judgeText(notification.text ?? "", of: id) }
        let mayBeGone =
            message.isRetractionAsked || message.hidesAsked.contains(phone.user)
            || mayBeRead(message, by: phone.user)
        guard mayBeGone || message.hidesAsked.count >= plan.clients, notification.text == nil
        else {
            return fail(
                .sound, "the notification of \(id) is withdrawn, neither deleted nor read")
        }
    }

    /// Whether all disks with the device, including those of machines that are away and may return,
    /// have the same viewings of it.
    private func areViewingsCaughtUp(of phone: ClusterPhone) -> Bool {
        var found: Set<[Viewing]> = []
        for machine in machines where !machine.isGone {
            let bytes = machine.executor.run {
                machine.disk.assumeIsolated { [key = phone.key] in $0.documents[key] }
            }
            guard let bytes else { continue }
            do throws(WireError) {
                let device = try Document(phone.key, decoding: bytes).device
                found.insert(device?.viewings ?? [])
            } catch {
                fail(.running, "a disk holds what is no document: \(error)")
            }
        }
        return found.count < 2
    }

    /// Records that a disk was lost which alone knew something of a device.
    func noteLost(_ key: DocumentKey) {
        for phone in phones + pushed where phone.key == key { phone.expectations.lose(at: now) }
    }
}
