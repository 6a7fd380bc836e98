import Chat
import Replication
import Wire

/// The typing notices of clients, which are never stored and expire by themselves.
///
/// A node sends its clients' notices to every node, and each node shows the notices to its
/// watchers. Whatever fails, no notice is shown for longer than `millisecondsMax` after it was last
/// given, or, if a machine was suspended, `--max-offset` longer.
package struct Typing: Sendable {
    /// A user in a conversation.
    struct Place: Hashable, Comparable, Sendable {
        let conversation: ConversationID
        let user: UserID

        static func < (left: Place, right: Place) -> Bool {
            (left.conversation, left.user) < (right.conversation, right.user)
        }
    }

    /// A moment by both clocks of a node, the monotonic clock and the wall clock, in milliseconds.
    ///
    /// The monotonic clock stops while the machine is suspended, and the wall clock may be set. A
    /// notice that ends at a moment ends as soon as one of the clocks has reached the moment.
    struct Moment: Hashable, Sendable {
        var monotonic: UInt64
        /// The wall clock, in milliseconds since 1970.
        var wall: UInt64

        init(monotonic: UInt64, wall: UInt64) {
            self.monotonic = monotonic
            self.wall = wall
        }

        /// The present moment.
        init(_ clock: any Clock) {
            self.init(monotonic: clock.milliseconds, wall: clock.wallMilliseconds)
        }

        /// Returns the time left until this moment, in milliseconds; nil if the moment is past.
        func millisecondsLeft(at now: Moment) -> UInt64? {
            guard monotonic > now.monotonic, wall > now.wall else { return nil }
            return min(monotonic - now.monotonic, wall - now.wall)
        }

        func isPast(at now: Moment) -> Bool { millisecondsLeft(at: now) == nil }
    }

    /// The notices of this node's clients about one user in one conversation.
    struct Said: Sendable {
        /// When the latest notice was given, in milliseconds since 1970.
        var at: UInt64 = 0
        /// The moment at which the notice of each connection ends, by session.
        var until: [UInt64: Moment] = [:]
        var participants: [UserID] = []
    }

    /// The notices shown to the watchers of this node about one user in one conversation.
    struct Shown: Sendable {
        /// When the first notice was given, in milliseconds since 1970.
        var at: UInt64 = 0
        /// The moment at which the notice of each node ends.
        var until: [NodeName: Moment] = [:]
        var participants: [UserID] = []
    }

    /// A client's notice, until the node knows whether the user is a participant.
    struct Asked: Sendable {
        enum Word: Sendable {
            case on
            case off
            /// The user has sent a message or has left: typing ends on every connection.
            case ended
        }

        let place: Place
        let word: Word
        /// The session with whose end the notice ends.
        let owner: UInt64
        /// The participants; nil while other nodes are being queried for them.
        var participants: [UserID]?
    }

    private(set) var said: [Place: Said] = [:]
    private(set) var shown: [Place: Shown] = [:]
    var asked: [ReplySlot: Asked] = [:]
    /// The requests in `asked` that were allowed in this turn, in order.
    var allowed: [ReplySlot] = []
    /// The notices that could not be sent to a node because its queue was full.
    var unsent: [NodeName: Set<Place>] = [:]

    /// The lifetime of a notice, in milliseconds: six seconds, less the tick that notices its end.
    static let millisecondsMax: UInt64 = 5_900
    /// The maximum number of conversations in which one connection types.
    package static let ofConnectionMax = 64
    /// The maximum number of places about which the clients of one node give notices.
    static let ofNodeMax = 16_384

    var places: [Place] { said.keys.sorted() }

    // MARK: Said here

    /// Returns whether a connection may give another notice.
    func hasCapacity(for session: UInt64, at place: Place) -> Bool {
        guard said[place]?.until[session] == nil else { return true }
        let mine = said.values.count { $0.until[session] != nil }
        return mine < Typing.ofConnectionMax && said.count < Typing.ofNodeMax
    }

    /// Drops the requests that a connection made earlier about the same place.
    ///
    /// Disks and other nodes may answer a later request first. The earlier request then has no
    /// effect, as if both had been executed in their order.
    mutating func dropRequests(before slot: ReplySlot, at place: Place) {
        guard !asked.isEmpty else { return }
        asked = asked.filter { earlier, request in
            earlier.session != slot.session || earlier.number > slot.number
                || request.place != place
        }
    }

    mutating func say(
        _ place: Place, by session: UInt64, to participants: [UserID], now: Moment
    ) {
        said[place, default: Said()].until[session] = Moment(
            monotonic: now.monotonic + Typing.millisecondsMax,
            wall: now.wall + Typing.millisecondsMax)
        said[place]?.participants = participants
        said[place]?.at = now.wall
    }

    /// Whether nobody is typing, as far as this node knows.
    var isIdle: Bool { said.isEmpty && shown.isEmpty && asked.isEmpty }

    /// Whether a notice about this place exists or is being checked.
    func concerns(_ place: Place) -> Bool {
        said[place] != nil || shown[place] != nil
            || asked.values.contains { $0.place == place }
    }

    /// Ends the notices of all connections about a place.
    ///
    /// - Returns: whether any notice existed.
    mutating func endNotices(_ place: Place) -> Bool { said.removeValue(forKey: place) != nil }

    /// Returns the time for which the last notice about a place is still valid, in milliseconds;
    /// nil if there is no such notice.
    func millisecondsLeft(at place: Place, now: Moment) -> UInt64? {
        said[place]?.until.values.compactMap { $0.millisecondsLeft(at: now) }.max()
    }

    /// - Returns: whether this call ended the last notice about the place.
    mutating func unsay(_ place: Place, by session: UInt64) -> Bool {
        guard said[place]?.until.removeValue(forKey: session) != nil else { return false }
        guard said[place]?.until.isEmpty ?? false else { return false }
        said[place] = nil
        return true
    }

    /// - Returns: the places whose last notice came from the connection.
    mutating func removeSession(_ session: UInt64) -> [Place] {
        asked = asked.filter { $0.key.session != session && $0.value.owner != session }
        #if PlantedBugs
            if PlantedBug.typingOutlivesConnection.isOn { return [] }
        #endif
        return places.filter { unsay($0, by: session) }
    }

    /// - Returns: the places whose last notice has ended.
    mutating func endSaid(now: Moment) -> [Place] {
        places.filter { place in
            let late = (said[place]?.until ?? [:]).filter { $1.isPast(at: now) }.keys.sorted()
            return late.reduce(false) { unsay(place, by: $1) || $0 }
        }
    }

    // MARK: Shown here

    /// - Parameter until: the end of the notice, limited to `millisecondsMax` from now.
    /// - Returns: whether no notice about the place was shown before.
    mutating func show(
        _ place: Place, by name: NodeName, to participants: [UserID], until: Moment, now: Moment,
        at: UInt64
    ) -> Bool {
        let isFirst = shown[place] == nil
        guard !isFirst || shown.values.count(where: { $0.until[name] != nil }) < Typing.ofNodeMax
        else { return false }
        shown[place, default: Shown()].until[name] = Moment(
            monotonic: min(until.monotonic, now.monotonic + Typing.millisecondsMax),
            wall: min(until.wall, now.wall + Typing.millisecondsMax))
        shown[place]?.participants = participants
        if isFirst { shown[place]?.at = at }
        return isFirst
    }

    /// - Returns: the users to whom the place was shown; nil if it was not shown.
    mutating func hide(_ place: Place) -> [UserID]? {
        shown.removeValue(forKey: place)?.participants
    }

    /// - Returns: the users to whom the place was shown, if this call ended its last notice.
    mutating func hide(_ place: Place, by name: NodeName) -> [UserID]? {
        guard shown[place]?.until.removeValue(forKey: name) != nil else { return nil }
        guard let rest = shown[place], rest.until.isEmpty else { return nil }
        shown[place] = nil
        return rest.participants
    }

    /// Returns the places about which a node has given notice, ascending.
    func places(of name: NodeName) -> [Place] {
        shown.filter { $1.until[name] != nil }.keys.sorted()
    }

    /// Returns the notices of nodes that have expired.
    func overdue(now: Moment) -> [(place: Place, name: NodeName)] {
        shown.keys.sorted().flatMap { place in
            (shown[place]?.until ?? [:]).filter { $1.isPast(at: now) }.keys.sorted()
                .map { (place, $0) }
        }
    }

    /// Returns the places that are shown to a user, ascending.
    func places(shownTo user: UserID) -> [Place] {
        shown.filter { $1.participants.contains(user) }.keys.sorted()
    }
}
