/// The error of an `ERR` status line: one of the protocol's codes, and a sentence for people.
public struct LineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error code: one of 400, 401, 403, 404, 408, 409, 413, 429, 500, 503 and 504.
    public let code: Int
    public let sentence: String
    /// The seconds after which the client may repeat the request; nil if the time is unknown.
    public let retryAfter: Int?
    /// The node's wall clock, in milliseconds since 1970, where a time of the client's is compared
    /// with it.
    public private(set) var now: Int64?

    public init(_ code: Int, _ sentence: String, retryAfter: Int? = nil) {
        self.code = code
        self.sentence = sentence
        self.retryAfter = retryAfter
    }

    /// Returns the same error with the node's wall clock, in milliseconds since 1970.
    public func at(_ now: UInt64) -> LineError {
        var error = self
        error.now = Int64(clamping: now)
        return error
    }

    public var description: String { "ERR \(code) \(sentenceWithTime)" }

    /// The sentence, with the node's time where the error has it.
    var sentenceWithTime: String {
        now.map { "\(sentence); this node's time is \(LineTime.text($0))" } ?? sentence
    }

    /// The error as the bytes of a status line.
    public var reply: [UInt8] {
        var writer = ReplyWriter(reserving: 96)
        writer.error(self)
        return writer.removeAll()
    }
}

/// The errors whose sentences the protocol prescribes, and the errors that several functions use.
extension LineError {
    public static let lineNotEnded = LineError(400, "line not ended")
    public static let messageEmpty = LineError(400, "Message cannot be empty")
    public static let refreshTokenUsed = LineError(
        401, "The refresh token was used before; the sign-in has ended")
    public static let notUTF8 = LineError(400, "Not valid UTF-8")
    public static let holdsNUL = LineError(400, "A NUL character is not allowed")

    public static let speaksHTTP = LineError(
        400, "This port speaks lines, not HTTP; HELP lists the verbs")

    public static let signInFirst = LineError(401, "Sign in first: AUTH <secret>")
    public static let wrongSecret = LineError(401, "Wrong secret")
    public static let signInExpired = LineError(401, "The access token has expired")
    public static let signInLate = LineError(401, "Not signed in within 10 s; connect again")
    public static let nodeHasNoKey = LineError(403, "This node has no key, and asks for none")

    public static let otherUser = LineError(403, "You can act as the user who signed in alone")
    public static let operatorsOnly = LineError(403, "Only an operator can do this")

    public static let editRefused = LineError(
        403, "You can only edit your own messages within 15 minutes")
    public static let onlyParticipants = LineError(403, "Only participants can do this")
    public static let onlySender = LineError(403, "Only the sender can delete for everyone")

    public static let conversationNotFound = LineError(404, "Conversation not found")
    public static let messageNotFound = LineError(404, "Message not found")
    public static let noSuchVerb = LineError(404, "No such verb")
    public static let shardNotHeld = LineError(404, "Shard not held here")

    public static let lineTooLong = LineError(
        413, "Line too long: at most \(LineLimits.lineBytesMax) bytes")
    public static let textTooLong = LineError(
        413, "Text too long: at most \(LineLimits.textBytesMax) bytes")

    public static let tokenBad = LineError(
        400, "Not a token: give one as TOKEN printed it, whole and unchanged")
    public static let tokenOfAnotherCluster = LineError(
        400, "Token is of another cluster; ask this one for its own with TOKEN")

    public static let noMemoryForLine = LineError(
        503, "Too much waits on all connections for a line this long; send it again")
    public static let replyTooLong = LineError(
        413,
        "The reply would have more than \(LineLimits.replyBytesMax) bytes; ask for less of it")

    public static let operationEarly = LineError(
        408, "The operation's time is ahead of this node's")
    public static let operationExpired = LineError(
        408, "The operation is older than 10 minutes: no node executes it any more")
    public static let operationClosing = LineError(
        503,
        "The operation is nearly 10 minutes old; repeat it until the answer is 408, then begin anew"
    )

    static let tooManyProfiles = LineError(
        400, "At most \(LineLimits.participantsMax) profiles are shown at a time")
    public static let tooManyParticipants = LineError(
        429, "A conversation has at most \(LineLimits.participantsMax) participants")
}
