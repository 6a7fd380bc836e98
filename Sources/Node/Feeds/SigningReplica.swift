import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A frame about the signing keys of access tokens and the revocations.
package enum SigningFrame: Hashable, Sendable {
    /// The checksum of the sender's table, sent on each new connection.
    case version(UInt64)
    /// Keys and revocations that the receiver may lack.
    case news([Signing.Key], [SigningTable.Revocation])

    /// The maximum number of revocations in one frame.
    static let revocationsMax = 1_000
}

extension SigningFrame: WireValue {
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .version(let version):
            writer.write(1)
            writer.write(fixed: version)
        case .news(let keys, let revocations):
            writer.write(2)
            keys.encode(into: &writer)
            revocations.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .version(try reader.readFixed())
        case 2:
            self = .news(
                try reader.readList(limit: SigningTable.keysMax),
                try reader.readList(limit: SigningFrame.revocationsMax))
        default: throw .unknown
        }
    }
}

/// A change of the keys and revocations, for the part of the process that checks access tokens.
package struct SigningNews: Sendable {
    package struct Key: Hashable, Sendable {
        package let name: String
        package let secret: String
        /// The hybrid timestamp at which the key was made, as bits.
        package let stamp: UInt64

        package init(name: String, secret: String, stamp: UInt64) {
            self.name = name
            self.secret = secret
            self.stamp = stamp
        }
    }

    package var keys: [Key]
    /// The revoked names of users and sign-ins; tokens of sign-ins that began no later than
    /// `through` are refused.
    package var revoked: [(name: String, through: UInt64)]
    /// Names whose refused tokens have all expired.
    package var forgotten: [String]

    package init(
        keys: [Key] = [], revoked: [(name: String, through: UInt64)] = [],
        forgotten: [String] = []
    ) {
        self.keys = keys
        self.revoked = revoked
        self.forgotten = forgotten
    }

    var isEmpty: Bool { keys.isEmpty && revoked.isEmpty && forgotten.isEmpty }
}

/// The replica of the cluster's signing keys and revocations on one node, with the changes that are
/// not stored or not sent yet.
struct SigningReplica: Sendable {
    private(set) var table = SigningTable()
    /// The changes that the members are sent at the end of the turn.
    private var unsent: (keys: [Signing.Key], revocations: [SigningTable.Revocation]) = ([], [])
    /// The changes that the port for apps has not fetched yet; nil before its first fetch.
    private var untaken: SigningNews?
    private var areKeysDirty = false
    private var dirtyParts: Set<Int> = []
    /// The members to which some changes could not be sent, and which get the whole table.
    var owed: Set<NodeName> = []
    /// The replies that wait for the disk, each with the commit that stores its change.
    private var waits: [(slot: ReplySlot, ticket: UInt64?)] = []
    /// Whether the keys and revocations that earlier versions stored in a shard have been imported.
    var isImported = false
    /// Whether users sign in at this node with the cluster's keys.
    var isNeeded = false
    /// Whether users cannot sign in at this node, because it has no key.
    var lacksKey: Bool { isNeeded && table.keys.isEmpty }
    private var sweptAt: UInt64 = 0
    /// The lead of the wall clock over the monotonic clock when the wall clock was last trusted, in
    /// milliseconds; nil before the first time.
    private var wallLead: Int64?

    /// The interval at which the node checks whether revocations have expired, in milliseconds.
    static let sweepMilliseconds: UInt64 = 5_000
    /// The largest shift of the wall clock against the monotonic clock, in milliseconds, after
    /// which the wall clock is still trusted.
    static let clockShiftMax: Int64 = 5_000

    private static let keysName = "signing keys"
    private static func name(ofPart part: Int) -> String { "revocations \(part)" }

    // MARK: Changes

    mutating func insert(_ key: Signing.Key) {
        guard table.insert(key) else { return }
        areKeysDirty = true
        unsent.keys.append(key)
        untaken?.keys.append(key.news)
    }

    mutating func insert(_ revocation: SigningTable.Revocation, now: UInt64) {
        guard let news = table.insert(revocation, now: now) else { return }
        dirtyParts.insert(SigningTable.part(of: news.name))
        unsent.revocations.append(news)
        untaken?.revoked.append((news.name.text, news.through.bits))
    }

    mutating func renew(now: UInt64) {
        table.renew(now: now)
        dirtyParts.formUnion(0..<SigningTable.partsCount)
    }

    /// Removes the expired revocations, if a check is due; called at each tick.
    ///
    /// If the wall clock has been set, the age of the revocations is unknown, and all of them count
    /// as made now. Without other members, no measurement shows that the clock is wrong.
    mutating func sweep(now: UInt64, wall: UInt64) {
        let lead = Int64(clamping: wall) - Int64(clamping: now)
        let leadBefore = wallLead ?? lead
        wallLead = leadBefore
        guard now >= sweptAt + SigningReplica.sweepMilliseconds else { return }
        sweptAt = now
        if abs(lead - leadBefore) > SigningReplica.clockShiftMax {
            wallLead = lead
            renew(now: wall)
        } else {
            forgetEnded(now: wall)
        }
    }

    private mutating func forgetEnded(now: UInt64) {
        for name in table.forgetEnded(now: now) {
            dirtyParts.insert(SigningTable.part(of: name))
            untaken?.forgotten.append(name.text)
        }
    }

    // MARK: Disk

    /// Loads the keys and revocations from the disk.
    mutating func load(_ settings: [String: [UInt8]], now: UInt64) throws(WireError) {
        if let bytes = settings[SigningReplica.keysName] {
            for key in try [Signing.Key].decode(bytes) { _ = table.insert(key) }
        }
        for part in 0..<SigningTable.partsCount {
            guard let bytes = settings[SigningReplica.name(ofPart: part)] else { continue }
            for revocation in try [SigningTable.Revocation].decode(bytes) {
                // The clock may have been set since the revocation was stored. Therefore the
                // revocation counts as made now, whatever the stored time is.
                let (name, through) = (revocation.name, revocation.through)
                _ = table.insert(
                    SigningTable.Revocation(name: name, through: through, made: now), now: now)
            }
        }
    }

    /// Removes and returns the settings to store with the next commit.
    mutating func takeSettings() -> [Setting] {
        var settings: [Setting] = []
        if areKeysDirty {
            settings.append(Setting(name: SigningReplica.keysName, value: table.keys.encoded))
        }
        for part in dirtyParts.sorted() {
            settings.append(
                Setting(name: SigningReplica.name(ofPart: part), value: table.encodedPart(part)))
        }
        (areKeysDirty, dirtyParts) = (false, [])
        return settings
    }

    /// Records a reply that waits until a change is stored.
    ///
    /// An earlier change is stored again.
    mutating func wait(_ slot: ReplySlot, storing action: Signing.Action) {
        switch action {
        case .addKey: areKeysDirty = true
        case .revoke(let name, _): dirtyParts.insert(SigningTable.part(of: name))
        }
        waits.append((slot, nil))
    }

    /// Records the commit that stores all changes made so far.
    mutating func noteCommit(_ ticket: UInt64) {
        for index in waits.indices where waits[index].ticket == nil { waits[index].ticket = ticket }
    }

    /// Removes and returns the replies whose commit is on disk.
    mutating func takeStored(_ ticket: UInt64) -> [ReplySlot] {
        guard !waits.isEmpty else { return [] }
        func isStored(_ wait: (slot: ReplySlot, ticket: UInt64?)) -> Bool {
            wait.ticket.map { $0 <= ticket } ?? false
        }
        defer { waits.removeAll(where: isStored) }
        return waits.filter(isStored).map(\.slot)
    }

    mutating func takeFailed() -> [ReplySlot] {
        defer { waits = [] }
        return waits.map(\.slot)
    }

    // MARK: Members

    /// Whether changes are to be stored, or sent to members.
    var hasOutput: Bool {
        areKeysDirty || !dirtyParts.isEmpty || !unsent.keys.isEmpty || !unsent.revocations.isEmpty
            || !owed.isEmpty
    }

    /// Removes and returns the frames with the changes for the members.
    mutating func takeUnsent() -> [SigningFrame] {
        defer { unsent = ([], []) }
        return SigningReplica.frames(unsent.keys, unsent.revocations)
    }

    /// The frames with the whole table.
    var all: [SigningFrame] { SigningReplica.frames(table.keys, table.revoked) }

    private static func frames(
        _ keys: [Signing.Key], _ revocations: [SigningTable.Revocation]
    ) -> [SigningFrame] {
        guard !keys.isEmpty || !revocations.isEmpty else { return [] }
        let keys = Array(keys.suffix(SigningTable.keysMax))
        let starts = stride(
            from: 0, to: max(1, revocations.count), by: SigningFrame.revocationsMax)
        return starts.map { start in
            let part = revocations[start...].prefix(SigningFrame.revocationsMax)
            return .news(start == 0 ? keys : [], Array(part))
        }
    }

    // MARK: The port for apps

    /// Whether the table has changed since `takeNews` was last called.
    var hasNews: Bool { untaken.map { !$0.isEmpty } ?? false }

    /// Removes and returns the changes since the last call; the first call returns the whole table.
    mutating func takeNews() -> SigningNews? {
        guard let news = untaken else {
            untaken = SigningNews()
            return SigningNews(
                keys: table.keys.map(\.news),
                revoked: table.revoked.map { ($0.name.text, $0.through.bits) })
        }
        guard !news.isEmpty else { return nil }
        untaken = SigningNews()
        return news
    }
}

extension Signing.Key {
    var news: SigningNews.Key {
        SigningNews.Key(name: id.text, secret: secret.text, stamp: created.time.bits)
    }
}
