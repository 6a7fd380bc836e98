import CRDT
import Wire

/// The state that an operation finds in the document that it changes.
///
/// The executing node looks at this first. An operation that is already done changes nothing. A
/// write over a value that is not earlier changes nothing, and its response says so. A mutation
/// whose effect only grows (a message, a mark, a deletion for everyone) has the same result however
/// often and however late it is executed, and is always new.
extension Mutation {
    public func standing(of operation: Stamp, in target: Document?) -> Standing {
        guard let target else { return .new }
        if case .edit = action, target.message?.has(operation) ?? false { return .done }
        if let stamps = stampsOfWritten(in: target) {
            return .ofWriting(operation, over: stamps)
        }
        switch (action, target.content) {
        case (.invite(let guest), .conversation(let room)):
            return room.participants.standing(ofAdding: guest, by: operation)
        case (.leave, .conversation(let room)):
            return room.participants.standing(ofRemoving: user, by: operation)
        case (.hide, .message(let message)):
            return message.deletedBy.standing(ofAdding: user, by: operation)
        case (.restore, .message(let message)):
            return message.deletedBy.standing(ofRemoving: user, by: operation)
        case (.archive, .participantState(let participantState)):
            return participantState.archivedBy.standing(ofAdding: user, by: operation)
        case (.unarchive, .participantState(let participantState)):
            return participantState.archivedBy.standing(ofRemoving: user, by: operation)
        default:
            return .new
        }
    }

    /// Returns the stamps of the values that the mutation overwrites; nil where it overwrites none.
    private func stampsOfWritten(in target: Document) -> [Stamp?]? {
        switch (action, target.content) {
        case (.edit, .message(let message)): [message.header.sent, message.versions.last?.stamp]
        case (.pin, .message(let message)), (.unpin, .message(let message)): [message.pin?.stamp]
        case (.setProfile(let edit), .profile(let profile)): profile.stamps(of: edit)
        case (.editItem(let edit), .item(let item)): item.stamps(of: edit)
        case (.finishItem, .item(let item)): [item.finishedAt]
        case (.device(_, let action), .device(let device)): device.stamps(of: action)
        default: nil
        }
    }

    /// Whether the mutation is recorded although the state is already as requested.
    ///
    /// It is where an earlier operation of the same client may still be executed, which must then
    /// find a later write.
    ///
    /// - Throws: `tooManyEdits` where the message accepts no further edit.
    public func isRecorded(
        over target: Document?, after unsettled: Unsettled
    ) throws(Refusal) -> Bool {
        guard unsettled.time > .zero, let target else { return false }
        func isEarly(_ time: HybridTimestamp?) -> Bool { (time ?? .zero) <= unsettled.time }
        let stamps = stampsOfWritten(in: target) ?? []
        switch (action, target.content) {
        case (.invite(let guest), .conversation(let room)):
            return isEarly(room.participants.lastAdded(guest))
        case (.setProfile, _), (.editItem, _):
            return stamps.contains { isEarly($0?.time) }
        case (.edit, .message(let message)):
            guard isEarly(stamps.compactMap(\.self).max()?.time) else { return false }
            guard message.versions.count < ChatLimits.editsMax else { throw .tooManyEdits }
            return true
        case (.pin, _), (.unpin, _), (.finishItem, _), (.device(_, .add), _),
            (.device(_, .view), _), (.device(_, .remove), _):
            return isEarly(stamps.compactMap(\.self).max()?.time)
        default:
            return false
        }
    }

    /// Whether the mutation invites a user.
    public var isInvitation: Bool {
        if case .invite = action { return true }
        return false
    }
}

extension Message {
    /// Whether `edit` is the stamp of one of the message's edits.
    public func has(_ edit: Stamp) -> Bool { versions.contains { $0.stamp == edit } }
}
