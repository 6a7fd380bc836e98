import CRDT
import Wire

/// The result of a query.
public enum Findings: Hashable, Sendable {
    case messages([MessageView])
    case edits([EditView])
    /// Ascending.
    case users([UserID])
    case chats([ChatView])
    case unread([UnreadCount])
    case profile(ProfileView)
    case actions([ItemView])
    case marks([MarkView])
    /// The latest first.
    case changes([ParticipantChange])
    indirect case device(Device)
    case devices([DeviceView])
    case names([NameView])
    case profiles([DatedProfile])
    case candidates([NotificationCandidate])
    case notifications([NotificationView])
    case accounts([AccountView])
    indirect case signing(Signing)
    case file(FileView)
    case part([UInt8])
    case standing(SignInStanding)
    case holders([TokenHolder])
    indirect case blocks(Blocks)
    /// Ascending by user.
    case blockViews([BlockView])
    indirect case acquaintance(Acquaintance)
    case bytes(UInt64)
}

extension Findings {
    /// Whether findings of this kind are a result of such a query.
    public func answers(_ query: Query) -> Bool {
        switch (self, query) {
        case (.messages, .history), (.messages, .pinned), (.edits, .edits), (.chats, .chats),
            (.users, .participants), (.unread, .unread), (.profile, .profile),
            (.actions, .actions), (.device, .device), (.candidates, .due), (.chats, .chat),
            (.marks, .marks), (.devices, .devices), (.names, .names), (.users, .contacts),
            (.profiles, .profiles), (.accounts, .accounts), (.accounts, .allAccounts),
            (.signing, .signing),
            (.file, .file), (.part, .part), (.standing, .signIn), (.holders, .holders),
            (.blocks, .blocks), (.users, .blockers), (.users, .accountUsers),
            (.acquaintance, .acquaintance), (.bytes, .unsentBytes), (.messages, .message),
            (.actions, .action), (.changes, .changes):
            true
        case (_, .without(_, let query)): answers(query)
        default: false
        }
    }
}

extension Query {
    /// The shards, of `count`, that may contain a part of a user's list.
    public func shards(of count: UInt16) -> [ShardID] {
        switch self {
        case .profiles(let users), .blockers(let users):
            Set(users.map { ShardID(of: $0.text, count: count) }).sorted()
        default: (0..<count).map { ShardID($0) }
        }
    }

    /// The findings in a shard in which nothing is or was the user's (`Term.concerning`); nil if
    /// the query may find something there.
    public var findsNothing: Findings? {
        switch self {
        case .chats: .chats([])
        case .unread: .unread([])
        case .contacts: .users([])
        case .actions: .actions([])
        case .acquaintance: .acquaintance(Acquaintance())
        // Of a conversation that has not arrived in a shard, no notification is withdrawn there.
        case .due: .candidates([])
        case .history, .edits, .pinned, .participants, .chat, .marks, .profile, .profiles, .names,
            .device, .devices, .accounts, .allAccounts, .signing, .file, .part, .signIn,
            .holders, .blocks, .blockers, .accountUsers, .unsentBytes, .message, .action,
            .changes:
            nil
        case .without(_, let query): query.findsNothing
        }
    }

    /// Returns the query with an answer that leaves out what `senders` sent.
    public func filtered(by senders: BlockedSenders) -> Query {
        senders.isEmpty ? self : .without(senders, self)
    }

    /// The query itself, and the senders whose messages its answer leaves out.
    public var unfiltered: (query: Query, senders: BlockedSenders) {
        guard case .without(let senders, let query) = self else { return (self, .none) }
        return (query, senders)
    }
}

// MARK: Parts

extension Findings {
    /// The approximate limit of one part on its way to another node, in bytes (256 KiB); a single
    /// larger element is a part of its own.
    public static let partBytesMax = 256 << 10

    /// Splits the findings into parts; appended in order they are the whole again.
    public func split(bytesMax: Int = Findings.partBytesMax) -> [Findings] {
        switch self {
        case .messages(let views): runs(of: views, bytesMax).map(Findings.messages)
        case .edits(let views): runs(of: views, bytesMax).map(Findings.edits)
        case .users(let users): runs(of: users, bytesMax).map(Findings.users)
        case .chats(let views): runs(of: views, bytesMax).map(Findings.chats)
        case .unread(let counts): runs(of: counts, bytesMax).map(Findings.unread)
        case .profile, .device, .devices, .signing, .file, .part, .standing, .blocks, .blockViews,
            .acquaintance, .bytes, .changes:
            [self]
        case .holders(let holders): runs(of: holders, bytesMax).map(Findings.holders)
        case .accounts(let views): runs(of: views, bytesMax).map(Findings.accounts)
        case .marks(let views): runs(of: views, bytesMax).map(Findings.marks)
        case .names(let views): runs(of: views, bytesMax).map(Findings.names)
        case .profiles(let views): runs(of: views, bytesMax).map(Findings.profiles)
        case .candidates(let candidates): runs(of: candidates, bytesMax).map(Findings.candidates)
        case .notifications(let views): runs(of: views, bytesMax).map(Findings.notifications)
        case .actions(let views): runs(of: views, bytesMax).map(Findings.actions)
        }
    }

    /// About what a list over shards has on its way between nodes, in bytes; 0 for other findings.
    public var roughBytes: Int {
        switch self {
        case .chats(let views): views.reduce(0) { $0 + $1.roughBytes }
        case .actions(let views): views.reduce(0) { $0 + $1.roughBytes }
        case .users(let users): users.reduce(0) { $0 + $1.text.utf8.count + 1 }
        case .unread(let counts): counts.reduce(0) { $0 + $1.conversation.text.utf8.count + 4 }
        default: 0
        }
    }

    /// Appends the next part.
    ///
    /// - Returns: false if it is of another kind, and so no result of the same query.
    public mutating func append(_ part: Findings) -> Bool {
        switch (self, part) {
        case (.messages(let mine), .messages(let more)): self = .messages(mine + more)
        case (.edits(let mine), .edits(let more)): self = .edits(mine + more)
        case (.chats(let mine), .chats(let more)): self = .chats(mine + more)
        case (.marks(let mine), .marks(let more)): self = .marks(mine + more)
        case (.names(let mine), .names(let more)): self = .names(mine + more)
        case (.profiles(let mine), .profiles(let more)): self = .profiles(mine + more)
        case (.users(let mine), .users(let more)): self = .users(mine + more)
        case (.unread(let mine), .unread(let more)): self = .unread(mine + more)
        case (.actions(let mine), .actions(let more)): self = .actions(mine + more)
        case (.accounts(let mine), .accounts(let more)): self = .accounts(mine + more)
        case (.holders(let mine), .holders(let more)): self = .holders(mine + more)
        case (.candidates(let mine), .candidates(let more)): self = .candidates(mine + more)
        case (.notifications(let mine), .notifications(let more)):
            self = .notifications(mine + more)
        case (.acquaintance(var mine), .acquaintance(let more)):
            mine.add(more)
            self = .acquaintance(mine)
        case (.bytes(let mine), .bytes(let more)):
            self = .bytes(mine.addingReportingOverflow(more).overflow ? .max : mine + more)
        default: return false
        }
        return true
    }

    private func runs<View: WireValue>(of views: [View], _ bytesMax: Int) -> [[View]] {
        views.runs(of: bytesMax) { $0.encoded.count }
    }
}

// MARK: Lists over shards

extension Findings {
    /// Merges what several shards or nodes found to one list: in the list's order, each element
    /// once.
    public var gathered: Findings {
        switch self {
        case .messages, .edits, .profile, .marks, .device, .devices, .names, .profiles, .candidates,
            .notifications, .signing, .file, .part, .standing, .blocks, .blockViews,
            .acquaintance, .bytes, .changes:
            return self
        case .holders(let holders):
            return .holders(Set(holders).sorted())
        case .accounts(let views):
            return .accounts(views.firstPage)
        case .users(let users):
            // What each conversation adds ascends already, which makes the sorting nearly linear.
            var gathered: [UserID] = []
            for user in users.sorted() where gathered.last != user { gathered.append(user) }
            return .users(gathered)
        case .actions(let views):
            var seen: Set<ItemID> = []
            return .actions(views.sorted().filter { seen.insert($0.id).inserted })
        case .chats(let views):
            let sorted = views.sorted { $0.position < $1.position }
            var seen: Set<ConversationID> = []
            return .chats(sorted.filter { seen.insert($0.id).inserted })
        case .unread(let counts):
            let sorted = counts.sorted { ($0.conversation, $1.count) < ($1.conversation, $0.count) }
            var seen: Set<ConversationID> = []
            return .unread(sorted.filter { seen.insert($0.conversation).inserted })
        }
    }
}
