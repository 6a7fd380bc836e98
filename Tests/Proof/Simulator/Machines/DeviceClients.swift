import CRDT
import Chat
import Node
import Replication
import Wire

/// A client whose device numbers and times its operations itself.
///
/// The device has one operation under way at a time. It repeats the operation, at any node, until
/// it is answered; a copy of it may wait in the connection to a node that stands still, and be
/// executed when everything else is over.
struct DeviceClient {
    let process: ProcessID
    var counter: UInt64 = 0
    /// The greatest time that the device has given.
    var greatest = HybridTimestamp.zero
    /// The operation that is not answered yet.
    var open: Operation?
    /// The last acknowledged operation on each value or element.
    var wishes: [Wish.Place: Wish] = [:]

    struct Wish {
        /// The value or element on which several actions are contrary to each other.
        struct Place: Hashable {
            let key: DocumentKey
            let subject: String
        }

        let mutation: Mutation
        let stamp: Stamp
    }
}

extension World {
    /// The path of a device's operation.
    private enum Path {
        case answered
        /// A copy is executed late.
        case answeredThenLate
        /// The operation is executed, but the answer is lost.
        case unanswered
        /// The operation waits in a connection, and is executed late.
        case late
    }

    func actAsDevice(_ index: Int, at node: Int) throws(Violation) {
        let operation = nextOfDevice(index)
        let shard = shard(of: operation.mutation)
        let reader = nodes[node]
        guard let first = route(shard, from: reader), reader.shell != nil else { return }
        func forward(waits: Bool) -> Forward {
            Forward(
                operation: operation, attempt: .client,
                level: deviceRandom.pick([.local, .majority, .all]), session: waits ? index : nil,
                lost: [])
        }
        let path = deviceRandom.pick([
            Path.answered, .answered, .answeredThenLate, .unanswered, .late,
        ])
        if path != .answered, path != .unanswered { late.append(forward(waits: false)) }
        switch path {
        case .answered, .answeredThenLate:
            if try isAnswered(forward(waits: true), in: shard, at: first, from: reader) {
                devices[index]?.open = nil
            }
        case .unanswered:
            _ = try isAnswered(forward(waits: false), in: shard, at: first, from: nil)
        case .late: coverage.count("of device: late")
        }
    }

    /// Returns the operation that is not answered yet, or a new one.
    private func nextOfDevice(_ index: Int) -> Operation {
        var device =
            devices[index]
            ?? DeviceClient(
                process: ProcessID(ofDeviceHashedTo: UInt32(index), deviceRandom.next()))
        defer { devices[index] = device }
        if let open = device.open {
            coverage.count("of device: again")
            return open
        }
        var drawn = mutation(by: clients.sessions[index].user).0
        while !drawn.isOfDevices { drawn = mutation(by: clients.sessions[index].user).0 }
        device.counter += 1 + UInt64(deviceRandom.below(3))
        let ahead = Int64(deviceRandom.below(400)) - 200
        let wall = SimWall.start + Int64(now / 1_000) + ahead
        device.greatest = max(
            device.greatest.next, HybridTimestamp(milliseconds: UInt64(wall)))
        let stamp = Stamp(time: device.greatest, process: device.process, counter: device.counter)
        let operation = Operation(drawn, stamp)
        device.open = operation
        return operation
    }

    /// Executes a device's operation.
    ///
    /// - Returns: whether it is accepted or refused; otherwise it is repeated.
    private func isAnswered(
        _ forward: Forward, in shard: Int, at node: SimNode, from reader: SimNode?
    ) throws(Violation) -> Bool {
        guard let shell = node.shell else { return false }
        let operation = forward.operation
        let known = shell.machines[shard].replica.current.vector
        let accepted: ShardMachine.Accepted
        do throws(ShardFailure) {
            accepted = try submit(operation, as: forward, in: shard, at: node, shell)
        } catch {
            try onAskingFailed(error, node, shell)
            switch error {
            case .refused: try checkRefused(operation, known, in: shard, at: node)
            case .stale:
                throw Violation(
                    invariant: .oneChange,
                    explanation: "\(node.name) wants another time for \(operation.mutation.words)")
            default: return false
            }
            return true
        }
        let submission = Submission(
            operation: operation, known: known, shard: shard, session: forward.session, lost: [])
        try onExecuted(accepted, submission, node, shell, reader)
        return true
    }

    /// Lets the clocks of all nodes pass by up to eleven minutes, so that the late requests are as
    /// old.
    func passTimeOfDevices() {
        guard plan.hasDevices, deviceRandom.chance(percent: 60) else { return }
        let milliseconds = Int64(deviceRandom.below(660_000))
        for node in nodes { node.wall.jump(by: milliseconds, now: now) }
    }
}

// MARK: Checks

extension World {
    /// The age up to which nodes may execute an operation of a device, in milliseconds.
    private static let ageMaxMilliseconds: UInt64 =
        600_000 - 2 * WallTime.maxOffsetMillisecondsDefault

    /// Throws if an accepted operation of a device took more than there was at its time, or is too
    /// old to be executed.
    func checkLate(
        _ accepted: ShardMachine.Accepted, _ submission: Submission, _ node: SimNode
    ) throws(Violation) {
        let (mutation, stamp) = (submission.mutation, submission.operation.stamp)
        let wall = node.wall.milliseconds(now: now)
        guard wall < stamp.time.milliseconds + World.ageMaxMilliseconds else {
            throw Violation(
                invariant: .times,
                explanation: "\(node.name) executes \(mutation.words) of "
                    + "\(stamp.time.milliseconds) ms at \(wall) ms")
        }
        guard !accepted.receipt.isRepeated, let state = accepted.document?.participantState else {
            return
        }
        if mutation.action.marking == .newest {
            let mark = mutation.marksRead ? state.read?.value : state.delivered?.value
            if let mark, mark.at == stamp.time, mark.position.time > stamp.time {
                throw Violation(
                    invariant: .claims,
                    explanation: "\(mutation.words) marks what was sent after it")
            }
        }
        guard mutation.action.hides, let conversation = mutation.conversation else { return }
        for entry in ledger.entries where entry.mutation.conversation == conversation {
            guard entry.mutation.action is SendMessage, entry.operation.time > stamp.time,
                let hidden = state.hidden, hidden.at == stamp.time,
                hidden.vector.contains(entry.dot)
            else { continue }
            // The message may have been sent twice, the first time before the request.
            let sent = ledger.entries(of: entry.mutation.key).filter(\.mutation.action.isCreation)
            guard sent.allSatisfy({ $0.operation.time > stamp.time }) else { continue }
            // An earlier request of the user may have hidden it.
            let isHiddenBefore = ledger.entries(of: mutation.key).contains {
                $0.hidden?.vector.contains(entry.dot) ?? false
            }
            guard !isHiddenBefore else { continue }
            throw Violation(
                invariant: .deleted,
                explanation: "\(mutation.words) hides what was sent after it: \(entry.words)")
        }
    }

    /// Throws if a node refuses the repetition of an operation of which it holds a record.
    private func checkRefused(
        _ operation: Operation, _ known: Vector, in shard: Int, at node: SimNode
    ) throws(Violation) {
        let mutation = operation.mutation
        let isRecorded =
            switch mutation.action {
            case is HideMessage, is RestoreMessage, is ArchiveChat, is UnarchiveChat,
                is BlockUser, is UnblockUser:
                true
            case is InviteUser, is LeaveConversation: !plan.hasAccounts
            default: false
            }
        guard isRecorded else { return }
        let executed = ledger.entries(of: mutation.key).first {
            $0.operation == operation.stamp && known.contains($0.dot)
        }
        guard let executed else { return }
        throw Violation(
            invariant: .judgedOnce,
            explanation: "\(node.name) refuses what it holds already: \(executed.words)")
    }

    /// Records that a device was told that its operation is stored.
    func noteWish(of request: Request, _ mutation: Mutation) {
        guard let stamp = request.ofDevice, let subject = mutation.subjectOfWish else { return }
        let place = DeviceClient.Wish.Place(key: mutation.key, subject: subject)
        let index = request.session
        if let last = devices[index]?.wishes[place], last.stamp.counter > stamp.counter { return }
        devices[index]?.wishes[place] = DeviceClient.Wish(mutation: mutation, stamp: stamp)
    }

    /// Throws if a value is earlier than what its device was told last, or if an element lacks the
    /// record of it.
    ///
    /// A disk that was destroyed may have held it.
    func checkWishes() throws(Violation) {
        guard !nodes.contains(where: { $0.destroyedAt > 0 }) else { return }
        for (_, device) in devices.sorted(by: { $0.key < $1.key }) {
            for wish in device.wishes.values.sorted(by: { $0.stamp < $1.stamp }) {
                let shard = shard(of: wish.mutation)
                for node in owners(of: shard) {
                    guard let document = try stored(wish.mutation.key, in: shard, at: node),
                        !isReplaced(wish, in: document)
                    else { continue }
                    coverage.count("wish holds")
                    try check(wish, in: document, at: node)
                }
            }
        }
    }

    /// Whether the device's later operation was executed without an answer, the document is another
    /// one than that to which the wish belongs, or its subject is deleted.
    private func isReplaced(_ wish: DeviceClient.Wish, in document: Document) -> Bool {
        let isFollowed = ledger.entries(of: document.key).contains {
            $0.operation.process == wish.stamp.process && $0.operation > wish.stamp
                && $0.mutation.subjectOfWish == wish.mutation.subjectOfWish
        }
        guard !isFollowed else { return true }
        if wish.mutation.action is RetractMessage || wish.mutation.action is DeleteItem {
            return false
        }
        let creations = ledger.entries(of: document.key).filter(\.mutation.action.isCreation)
        if document.key.kind == .conversation { return plan.hasAccounts }
        let makers = Set(creations.map { "\($0.mutation.user) \($0.mutation.action.text ?? "")" })
        return makers.count > 1 || document.message?.isRetracted ?? false
            || document.item?.isDeleted ?? false
    }

    private func check(
        _ wish: DeviceClient.Wish, in document: Document, at node: SimNode
    ) throws(Violation) {
        let mutation = wish.mutation
        let standing = mutation.standing(of: wish.stamp, in: document)
        let holds =
            switch mutation.action {
            case is RetractMessage:
                Model(of: document, in: ledger).retracters.contains(mutation.user)
            case is DeleteItem: Model(of: document, in: ledger).isDeletedByOwner
            case is EditMessage:
                // Not judged by the standing: an edit that a node held for overtaken would be
                // overtaken here, too.
                document.message?.versions.last.map { wish.stamp.time <= $0.stamp.time } ?? false
            case is PinMessage, is UnpinMessage, is EditItem, is FinishItem, is SetProfile:
                standing != .new
            // Where a later addition was there already, nothing was recorded.
            case is InviteUser, is BlockUser:
                standing == .done
                    || !ledger.entries(of: document.key).contains { $0.operation == wish.stamp }
            default: standing == .done
            }
        guard !holds else { return }
        throw Violation(
            invariant: .kept,
            explanation: "\(node.name) has lost the last wish of a device, \(mutation.user) "
                + "\(mutation.words) \(wish.stamp.counter): \(standing)"
                + ledger.entries(of: document.key).map { "\n    " + $0.words }.joined())
    }
}

extension Mutation {
    /// Whether devices number such a request: neither a creation that its id names, nor a request
    /// of accounts and files.
    var isOfDevices: Bool {
        switch key.kind {
        case .conversation, .message, .participantState, .profile, .item, .blocks:
            !(action is CreateConversation || action is SendMessage)
        default: false
        }
    }

    /// The value or the element of the document that the request changes; nil for what only grows.
    var subjectOfWish: String? {
        switch action {
        case is PinMessage, is UnpinMessage: "pin"
        case is EditMessage: "text"
        case is HideMessage, is RestoreMessage: "hidden from \(user)"
        case is RetractMessage: "retracted"
        case is ArchiveChat, is UnarchiveChat: "archived"
        case let invitation as InviteUser: "participant \(invitation.guest)"
        case is LeaveConversation: "participant \(user)"
        case let action as any BlocksAction: "blocked \(action.other)"
        case is SetProfile: "profile"
        case is EditItem: "item"
        case is FinishItem: "done"
        case is DeleteItem: "deleted"
        default: nil
        }
    }
}
