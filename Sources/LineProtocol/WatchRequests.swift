import CRDT
import Chat
import Wire

/// A switch that a client turns on or off, as in `TYPING c1 alice on`.
public enum Toggle: String, CaseIterable, Sendable {
    case on
    case off
}

extension Request {
    public struct Watch: Hashable, Sendable {
        public var user: UserID
        /// The token of the state that the client has seen; nil for a watch of new events only.
        public var since: Token?
        /// Whether each event carries a token with which the client can resume after that event.
        public var hasTokens: Bool
        /// The interval of heartbeats in seconds; nil for no heartbeats.
        public var heartbeatSeconds: Int?
        /// Whether an event tells that all missed events were sent.
        public var tellsLevel: Bool
        /// Whether the reply describes the stream.
        public var isDescribed: Bool
        /// Whether the events show exact times.
        public var isExact = false

        public init(
            user: UserID, since: Token?, hasTokens: Bool = true, heartbeatSeconds: Int? = nil,
            tellsLevel: Bool = false
        ) {
            self.user = user
            self.since = since
            self.hasTokens = hasTokens
            self.heartbeatSeconds = heartbeatSeconds
            self.tellsLevel = tellsLevel
            isDescribed = tellsLevel
        }
    }

    public struct Typing: Hashable, Sendable {
        public var conversation: ConversationID
        public var user: UserID
        public var isOn: Bool
        /// The stream on whose connection the user types; nil for the connection of the request.
        public var stream: StreamID?

        public init(
            conversation: ConversationID, user: UserID, isOn: Bool, stream: StreamID? = nil
        ) {
            self.conversation = conversation
            self.user = user
            self.isOn = isOn
            self.stream = stream
        }
    }
}

extension Request.Watch {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        let since = try words.field(.since, bytesMax: LineLimits.tokenBytesMax)
        self.since = try since.map { text throws(LineError) in
            do throws(WireError) {
                return try Token(text: text)
            } catch {
                throw words.refusedOption("since= is not a token that a node gave")
            }
        }
        hasTokens = try words.choice(.tokens, of: Toggle.self) != .off
        heartbeatSeconds = try words.number(.heartbeat)
        let level = try words.choice(.level, of: Truth.self)
        tellsLevel = level.map { $0 == .yes } ?? (heartbeatSeconds != nil)
        isDescribed = tellsLevel
    }
}

extension Request.Typing {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        conversation = try words.name(0)
        user = try words.name(1)
        isOn = try words.choice(2, of: Toggle.self) == .on
        stream = try words.name(.stream)
    }
}
