import Chat
import Replication
import Wire

/// Who types where: never stored, and over by itself.
///
/// What clients of this node said is told to every node, and each node shows it to those who watch
/// there. Whatever becomes of the nodes and the network between them, nothing is shown for longer
/// than `millisecondsMax` after it was last said; where a machine was suspended, by `--max-offset`
/// longer at most.
package struct Typing: Sendable {
    /// One user in one conversation.
    struct Place: Hashable, Comparable, Sendable {
        let conversation: ConversationID
        let user: UserID

        static func < (left: Place, right: Place) -> Bool {
            (left.conversation, left.user) < (right.conversation, right.user)
        }
    }

    /// A moment by both clocks of a node, in milliseconds.
    ///
    /// The monotonic one stands still while the machine is suspended, the wall clock may be set:
    /// what counts until a moment is over as soon as one of the two says so.
    struct Moment: Hashable, Sendable {
        var monotonic: UInt64
        /// Since 1970.
        var wall: UInt64

        init(monotonic: UInt64, wall: UInt64) {
            self.monotonic = monotonic
            self.wall = wall
        }

        /// Now.
        init(_ clock: any Clock) {
            self.init(monotonic: clock.milliseconds, wall: clock.wallMilliseconds)
        }

        /// How long it is until then; nil where it is past.
        func millisecondsLeft(at now: Moment) -> UInt64? {
            guard monotonic > now.monotonic, wall > now.wall else { return nil }
            return min(monotonic - now.monotonic, wall - now.wall)
        }

        func isPast(at now: Moment) -> Bool { millisecondsLeft(at: now) == nil }
    }

    /// What clients of this node said of a place.
    struct Said: Sendable {
        /// When that was last said, in milliseconds since 1970.
        var at: UInt64 = 0
        /// Until when each connection's word counts.
        var until: [UInt64: Moment] = [:]
        var participants: [UserID] = []
    }

    /// What is shown of a place to those who watch here.
    struct Shown: Sendable {
        /// When that was said first, in milliseconds since 1970.
        var at: UInt64 = 0
        /// Until when each node's word counts.
        var until: [NodeName: Moment] = [:]
        var participants: [UserID] = []
    }

    /// What a client asked for, until it is known whether it may.
    struct Asked: Sendable {
        enum Word: Sendable {
            case on
            case off
            /// What was typed is sent, or its user left: it is over on every connection.
            case ended
        }

        let place: Place
        let word: Word
        /// Nil as long as others are asked.
        var participants: [UserID]?
    }

    private(set) var said: [Place: Said] = [:]
    private(set) var shown: [Place: Shown] = [:]
    var asked: [ReplySlot: Asked] = [:]
    /// Those of them that may, since the last turn; in order.
    var allowed: [ReplySlot] = []
    /// What a node has to be told and had no room for; at most what there is to tell it.
    var unsent: [NodeName: Set<Place>] = [:]

    /// How long a word counts, in milliseconds: six seconds, less the tick in which its end may be
    /// noticed.
    static let millisecondsMax: UInt64 = 5_900
    /// The most conversations in which one connection types.
    package static let ofConnectionMax = 64
    /// The most places where clients of one node type.
    static let ofNodeMax = 16_384

    var places: [Place] { said.keys.sorted() }

    // MARK: Said here

    /// Whether a connection may say more.
    func hasRoom(for session: UInt64, at place: Place) -> Bool {
        guard said[place]?.until[session] == nil else { return true }
        let mine = said.values.count { $0.until[session] != nil }
        return mine < Typing.ofConnectionMax && said.count < Typing.ofNodeMax
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

    /// Whether nobody types, as far as this node knows.
    var isIdle: Bool { said.isEmpty && shown.isEmpty && asked.isEmpty }

    /// Whether a place may be shown, or be about to be.
    func concerns(_ place: Place) -> Bool {
        said[place] != nil || shown[place] != nil
            || asked.values.contains { $0.place == place }
    }

    /// No connection's word counts any more.
    ///
    /// - Returns: whether one did.
    mutating func end(_ place: Place) -> Bool { said.removeValue(forKey: place) != nil }

    /// For how long the last word on a place still counts; nil where none does.
    func millisecondsLeft(at place: Place, now: Moment) -> UInt64? {
        said[place]?.until.values.compactMap { $0.millisecondsLeft(at: now) }.max()
    }

    /// - Returns: whether nobody's connection says so any more.
    mutating func unsay(_ place: Place, by session: UInt64) -> Bool {
        guard said[place]?.until.removeValue(forKey: session) != nil else { return false }
        guard said[place]?.until.isEmpty ?? false else { return false }
        said[place] = nil
        return true
    }

    /// - Returns: the places where it was the only one.
    mutating func forget(_ session: UInt64) -> [Place] {
        asked = asked.filter { $0.key.session != session }
        #if PlantedBugs
            if PlantedBug.typingOutlivesConnection.isOn { return [] }
        #endif
        return places.filter { unsay($0, by: session) }
    }

    /// - Returns: the places where no word counts any more.
    mutating func endSaid(now: Moment) -> [Place] {
        places.filter { place in
            let late = (said[place]?.until ?? [:]).filter { $1.isPast(at: now) }.keys.sorted()
            return late.reduce(false) { unsay(place, by: $1) || $0 }
        }
    }

    // MARK: Shown here

    /// - Parameter until: at most `millisecondsMax` from now is taken.
    /// - Returns: whether that was not shown already.
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

    /// - Returns: to whom it was shown; nil where it was not.
    mutating func hide(_ place: Place) -> [UserID]? {
        shown.removeValue(forKey: place)?.participants
    }

    /// - Returns: to whom it was shown, where nobody says so any more.
    mutating func hide(_ place: Place, by name: NodeName) -> [UserID]? {
        guard shown[place]?.until.removeValue(forKey: name) != nil else { return nil }
        guard let rest = shown[place], rest.until.isEmpty else { return nil }
        shown[place] = nil
        return rest.participants
    }

    /// The places of which a node's word counts, ascending.
    func places(of name: NodeName) -> [Place] {
        shown.filter { $1.until[name] != nil }.keys.sorted()
    }

    /// The nodes whose words have run out, each with its place.
    func overdue(now: Moment) -> [(place: Place, name: NodeName)] {
        shown.keys.sorted().flatMap { place in
            (shown[place]?.until ?? [:]).filter { $1.isPast(at: now) }.keys.sorted()
                .map { (place, $0) }
        }
    }

    /// Where one types among whom this user is, ascending.
    func places(shownTo user: UserID) -> [Place] {
        shown.filter { $1.participants.contains(user) }.keys.sorted()
    }
}
