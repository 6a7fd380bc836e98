import CRDT
import Chat
import LineProtocol
import Node
import StorePort
import Wire

extension LineError {
    init(_ failure: ShardFailure) {
        switch failure {
        case .refused(let refusal): self.init(refusal)
        case .notReady:
            self.init(503, "This node is catching up with the others; ask again shortly")
        case .unreachable:
            self.init(503, "No replica of it can be reached from this node; try again")
        case .unanswered, .stale:
            self.init(503, "The node that was asked fell silent and may have done it; ask again")
        case .behind:
            self.init(
                503,
                "No replica that can be reached is known to hold all that this connection has "
                    + "seen; try again, or ask another node")
        case .overloaded:
            self.init(503, "Too many requests wait for other nodes; try again shortly")
        case .clock(let offset): self.init(503, ClusterTime.sentence(offset))
        case .untimely(.closing, _): self = .operationClosing
        case .untimely(.expired, let now): self = .operationExpired.at(now)
        case .untimely(_, let now): self = .operationEarly.at(now)
        case .store(.full):
            self.init(503, "The disk is full: free some space; DELETE works")
        case .store(.badRecord(let key)):
            self.init(
                503, "A damaged record of \(key.partition) is being fetched anew; ask again")
        case .store(.locked):
            self.init(
                503, "Another program has locked the database of this node; try again")
        case .store(.badIndex):
            self.init(503, "A damaged index is being made anew; ask again")
        case .store(.failed(let reason)): self.init(500, "This node cannot go on: \(reason)")
        case .unsupported:
            self.init(
                503,
                "The nodes that can be reached are of an earlier version and cannot do this; "
                    + "upgrade them, or ask another node")
        case .badFrame: self.init(500, "A frame cannot be the answer to a request")
        }
    }

    init(_ reason: Unreadiness) {
        switch reason {
        case .noCluster: self.init(503, "No cluster yet: no node that it is to join has answered")
        case .damaged(let loss, hasOthers: true):
            self.init(503, "Damaged: \(loss); fetching acknowledged writes from other nodes")
        case .damaged(let loss, hasOthers: false):
            self.init(503, "Damaged: \(loss); \(Node.lossAdvice)")
        case .fetching(let shards):
            self.init(503, "Shard replicas not fetched yet: \(shards) are left")
        case .leaving(let shards): self.init(503, "Leaving: \(shards) shards to hand over are left")
        case .stopping: self.init(503, "Stopping")
        case .noKeys:
            self.init(503, "No key of access tokens is known here yet: users cannot sign in")
        case .diskFull: self.init(ShardFailure.store(.full))
        case .locked: self.init(ShardFailure.store(.locked))
        case .clock(let offset): self.init(ShardFailure.clock(offset))
        }
    }

    init(_ failure: OperationFailure) {
        switch failure {
        case .unknownMember: self.init(404, "No such node; MEMBERS lists them all")
        case .oneself: self.init(400, "That is this node itself; name another")
        case .faultsForbidden:
            self.init(403, "This node was started without --faults: it cannot be cut off")
        case .notDead:
            self.init(
                409, "That node is not dead: ask it to LEAVE, or stop it and wait until it is")
        case .tooManyJoins:
            self.init(
                429, "\(Node.joinsMax) addresses have not answered yet; a restart gives them up")
        case .logKept(let reason):
            self.init(503, "All was checked, but deleted texts may be left in the log: \(reason)")
        case .backupRunning:
            self.init(429, "A backup is being made already; ask again when it is done")
        case .backup(let failure): self.init(failure)
        case .stopping: self.init(503, "This node is stopping; ask again once it is back")
        case .foreignToken:
            self.init(400, "The token is of another cluster; WATCH without since= begins anew")
        case .tooManyWatchers:
            self.init(429, "Too many connections watch on this node; WATCH on another")
        case .noStream: self.init(404, "Stream not found")
        case .tooManyTyping:
            self.init(429, "Too many type at once; say TYPING … off where nobody does")
        case .nobodyElse:
            self.init(
                503, "No other node can take over what this one holds; SHUTDOWN stops it as it is")
        }
    }

    private init(_ refusal: Refusal) {
        switch refusal {
        case .conversationNotFound: self = .conversationNotFound
        case .messageNotFound: self = .messageNotFound
        case .notParticipant: self = .onlyParticipants
        case .editForbidden: self = .editRefused
        case .notSender: self = .onlySender
        case .conversationExists:
            self.init(409, "Conversation exists with another creator, users or title")
        case .messageExists: self.init(409, "Message exists with another sender or text")
        case .messageDeleted: self.init(409, "Message is deleted for everyone")
        case .tooManyEdits: self = .tooManyEdits
        case .tooManyParticipants: self = .tooManyParticipants
        case .profileNotFound: self.init(404, "Profile not found")
        case .itemNotFound: self.init(404, "Action item not found")
        case .deviceNotFound: self.init(404, "Device not found")
        case .tooManyDevices: self = .tooManyDevices
        case .tooManyBlocked: self = .tooManyBlocked
        case .userThemselves: self.init(400, "You cannot block yourself")
        case .blockedByUser: self.init(403, "You cannot add this user")
        case .userNotFound: self.init(404, "User not found")
        case .tooManyStrangers: self = .tooManyStrangers
        case .tooManyUnsentBytes: self = .tooManyUnsentBytes
        case .conversationFull: self = .conversationFull
        case .deviceFull: self = .deviceFull
        case .documentFull: self = .documentFull
        case .shardFull:
            self.init(503, "Too many processes have written to this shard to begin another")
        case .emailInUse: self.init(409, "This e-mail address is in use")
        case .accountNotFound: self.init(404, "Account not found")
        case .accountDisabled: self.init(403, "This account is disabled")
        case .fileNotFound: self.init(404, "File not found")
        case .fileExists:
            self.init(409, "File exists with another owner or content, or with another message")
        case .previewTooLarge:
            self.init(413, "A preview has at most \(Attachment.previewBytesMax) bytes")
        case .refreshTokenUsed: self = .refreshTokenUsed
        case .signInBehind:
            self.init(503, "The sign-in went on elsewhere; ask again, or another node")
        case .signInEnded: self.init(401, "The sign-in has ended; sign in again")
        case .signInDisplaced:
            self.init(
                401,
                "Signed out: \(Credentials.SignIn.countMax) other devices are signed in; sign in "
                    + "again")
        case .tooManyRevocations:
            self.init(
                503,
                "\(SigningTable.revocationsMax) sign-ins have ended within ten minutes; try again "
                    + "in a minute")
        case .signInSuperseded:
            self.init(401, "The password was changed, or the account deleted; sign in again")
        case .passwordUnsettled:
            self.init(503, "The password of this account is being changed; try again")
        case .notOwner: self.init(403, "Only the owner can do this")
        case .itemExists:
            self.init(409, "Action item exists with another title, link or time")
        }
    }
}

/// The errors for limits that waiting does not change; over lines their code is 429 nevertheless.
extension LineError {
    static let tooManyEdits = LineError(
        429, "A message has at most \(ChatLimits.editsMax) edits")
    static let tooManyDevices = LineError(
        429, "A user has at most \(ChatLimits.devicesMax) devices")
    static let tooManyBlocked = LineError(
        429,
        "A user has at most \(Blocks.countMax) others blocked at a time, and "
            + "\(Blocks.namesMax) over time")
    static let conversationFull = LineError(
        429,
        "A conversation keeps all who were ever in it, and this one can keep no more; "
            + "CREATE another")
    static let deviceFull = LineError(
        429,
        "This device keeps as much as it can; NOTIFIED, or DEVICE REMOVE and ADD, make "
            + "room")
    static let documentFull = LineError(
        429, "This has been changed by as many users and processes as it can keep")

    private static let lasting: Set<LineError> = [
        tooManyEdits, tooManyDevices, tooManyBlocked, conversationFull, deviceFull, documentFull,
        tooManyParticipants,
    ]

    /// Whether a repetition of the same request would be refused in the same way for ever.
    package var isLastingLimit: Bool { LineError.lasting.contains(self) }
}

/// The errors for limits that a user has to do something about before the request is accepted.
extension LineError {
    static let tooManyStrangers = LineError(
        429,
        "This user has not answered \(Acquaintance.strangersMax) conversations to which strangers "
            + "have added them; only people whom they know can add them now")

    static let tooManyUnsentBytes = LineError(
        429,
        "You have uploaded \(File.unsentBytesMax >> 20) MiB that are not sent: send them, or wait "
            + "until they are removed, an hour after their upload")

    /// The seconds after which a request that one of these limits refused may be accepted: one
    /// hour; nil for other errors.
    package var secondsToLastingChange: Int? {
        self == .tooManyStrangers || self == .tooManyUnsentBytes ? 3_600 : nil
    }
}
