import CRDT
import Wire

/// The time and the settings of the accepting node, by which it judges mutations.
public struct Judge: Sendable {
    /// Milliseconds since 1970.
    public let wallMilliseconds: UInt64
    /// How long after its sending a message may be edited, in milliseconds; at exactly that age it
    /// may not.
    public let editWindowMilliseconds: UInt64

    /// The same time, with the latest timestamp that is believed.
    public let wall: WallTime

    public init(wallMilliseconds: UInt64, editWindowMilliseconds: UInt64) {
        self.init(WallTime(milliseconds: wallMilliseconds), editWindowMilliseconds)
    }

    public init(_ wall: WallTime, _ editWindowMilliseconds: UInt64) {
        self.wall = wall
        wallMilliseconds = wall.milliseconds
        self.editWindowMilliseconds = editWindowMilliseconds
    }
}

#if PlantedBugs
    extension Document {
        /// Drops the edits that `judge` would refuse by now, as if a merge checked the rule
        /// again.
        public func judgedAgain(by judge: Judge, in conversation: Conversation?) -> Document {
            guard case .message(var message) = content else { return self }
            let sender = message.header.sender
            let isIn = conversation?.participants.contains(sender) ?? false
            guard !isIn || !message.mayEdit(sender, by: judge) else { return self }
            message.shown.versions = []
            return with(.message(message))
        }
    }
#endif

extension Message {
    /// Whether `user` may edit the message now.
    ///
    /// A message with a timestamp further in the future than is believed cannot be edited: the
    /// clock that gave it was wrong.
    func mayEdit(_ user: UserID, by judge: Judge) -> Bool {
        let sent = header.sent.time.milliseconds
        let age = judge.wallMilliseconds > sent ? judge.wallMilliseconds - sent : 0
        return header.sender == user && !deletedBy.contains(user)
            && age < judge.editWindowMilliseconds && judge.wall.believes(header.sent.time)
    }
}
