/// An action of the user that no node has accepted yet.
///
/// Operations are ordered by their numbers, which this device gives and never gives twice.
struct Operation: Equatable, Codable, Sendable, Identifiable {
    /// The number: never less than the milliseconds since 1970 at which it was given, so that a
    /// restored backup of the store repeats none.
    let number: UInt64
    let action: Action
    /// The time of this device at which the user acted, in milliseconds since 1970.
    let created: Int64
    /// The identity and the time that every attempt has; nil before the first one, and for actions
    /// that nodes give their time.
    var stamp: Stamp?
    /// The epoch of the conversation in which the user acted: what has happened since a later one
    /// began is not told by events.
    var epoch = 0

    var id: UInt64 { number }

    /// The name and the time of an operation, by which nodes know a repetition.
    struct Stamp: Equatable, Codable, Sendable, CustomStringConvertible {
        /// A name that no other device of the user has.
        let device: String
        let number: UInt64
        let time: ExactTime

        /// The value of the header `Grapevine-Operation`.
        var description: String { "\(device).\(number).\(time)" }
    }
}

extension Operation {
    /// Returns what the operation changes at nodes, once one has accepted it.
    ///
    /// - Parameters:
    ///   - user: the user whose operation it is.
    ///   - answered: the time in the node's answer, which counts for messages and conversations.
    func consequence(user: String, answered: ExactTime?) -> Update? {
        guard let time = stamp?.time ?? answered else { return nil }
        return action.consequence(at: time, user: user)
    }

    /// Returns the time at which the operation is shown while it waits.
    ///
    /// - Parameter deviceLead: milliseconds by which this device's time is ahead of the nodes'.
    func time(deviceLead: Int64) -> ExactTime {
        stamp?.time ?? ExactTime(milliseconds: created - deviceLead)
    }

    /// Returns what the operation changes, as it is shown while it waits: over everything that is
    /// known, whatever its time.
    ///
    /// - Parameter lastChange: the time of the last change of what the operation changes.
    func shown(over lastChange: ExactTime, user: String, deviceLead: Int64) -> Update {
        let time = max(time(deviceLead: deviceLead), lastChange.next)
        return action.consequence(at: time, user: user)
    }
}
