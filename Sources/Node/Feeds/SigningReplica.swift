import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A frame about the keys of access tokens and the revocations.
package enum SigningFrame: Hashable, Sendable {
    /// The version of the sender's table, said on each new connection.
    case version(UInt64)
    /// What the receiver may not know.
    case news([Signing.Key], [SigningTable.Revocation])

    /// The most revocations of one frame.
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

/// A change of the keys and revocations, for the port that checks access tokens.
package struct SigningNews: Sendable {
    package struct Key: Hashable, Sendable {
        package let name: String
        package let secret: String
        /// When it was made, as a stamp.
        package let stamp: UInt64

        package init(name: String, secret: String, stamp: UInt64) {
            self.name = name
            self.secret = secret
            self.stamp = stamp
        }
    }

    package var keys: [Key]
    /// Names of users and sign-ins, each with the last beginning whose tokens are refused.
    package var revoked: [(name: String, through: UInt64)]
    /// Names whose tokens have all ended.
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
    /// What the members are sent at the end of the turn.
    private var unsent: (keys: [Signing.Key], revocations: [SigningTable.Revocation]) = ([], [])
    /// What the port for apps has not taken yet; nil while there is no such port.
    private var untaken: SigningNews?
    private var areKeysDirty = false
    private var dirtyParts: Set<Int> = []
    /// The members to which a part of the news could not be sent.
    var owed: Set<NodeName> = []
    /// The replies that wait for the disk, with the commit that stores what they acknowledge.
    private var waits: [(slot: ReplySlot, ticket: UInt64?)] = []
    /// Whether what earlier versions kept in a shard has been read.
    var isImported = false
    /// Whether the node's port for apps signs users in with these keys.
    var isNeeded = false
    /// Whether users cannot sign in here, because no key is known.
    var lacksKey: Bool { isNeeded && table.keys.isEmpty }
    private var sweptAt: UInt64 = 0
    /// How far the wall clock was ahead of the steady one when it was last relied on, in
    /// milliseconds; nil before the first time.
    private var wallLead: Int64?

    /// How often revocations are looked at for whether they have ended, in milliseconds.
    static let sweepMilliseconds: UInt64 = 5_000
    /// By how much the wall clock may move against the steady one and be relied on, in
    /// milliseconds.
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

    /// Forgets the revocations that have ended, if it is time to look; to be called at each tick.
    ///
    /// How old they are is not known where the wall clock has been set, either now or before: all
    /// of them are then taken as made now. A node that is alone has nobody else to tell it that its
    /// clock is wrong.
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

    /// Reads what is on disk.
    mutating func load(_ settings: [String: [UInt8]], now: UInt64) throws(WireError) {
        if let bytes = settings[SigningReplica.keysName] {
            for key in try [Signing.Key].decode(bytes) { _ = table.insert(key) }
        }
        for part in 0..<SigningTable.partsCount {
            guard let bytes = settings[SigningReplica.name(ofPart: part)] else { continue }
            for revocation in try [SigningTable.Revocation].decode(bytes) {
                // Whether it has ended is not judged by a clock that may have been set meanwhile.
                let (name, through) = (revocation.name, revocation.through)
                _ = table.insert(
                    SigningTable.Revocation(name: name, through: through, made: now), now: now)
            }
        }
    }

    /// Takes what is to be stored with the next commit.
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

    /// Notes a reply that waits until a change is stored, which may be one of before: then it is
    /// stored again.
    mutating func wait(_ slot: ReplySlot, storing action: Signing.Action) {
        switch action {
        case .addKey: areKeysDirty = true
        case .revoke(let name, _): dirtyParts.insert(SigningTable.part(of: name))
        }
        waits.append((slot, nil))
    }

    /// Notes the commit that stores everything up to now.
    mutating func noteCommit(_ ticket: UInt64) {
        for index in waits.indices where waits[index].ticket == nil { waits[index].ticket = ticket }
    }

    /// Takes the replies whose commit is on disk.
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

    /// Whether something is to be stored, or sent to members.
    var hasOutput: Bool {
        areKeysDirty || !dirtyParts.isEmpty || !unsent.keys.isEmpty || !unsent.revocations.isEmpty
            || !owed.isEmpty
    }

    /// Takes the frames that tell members what has changed.
    mutating func takeUnsent() -> [SigningFrame] {
        defer { unsent = ([], []) }
        return SigningReplica.frames(unsent.keys, unsent.revocations)
    }

    /// The frames that tell all.
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

    /// Whether there is something new since the last time that news were taken.
    var hasNews: Bool { untaken.map { !$0.isEmpty } ?? false }

    /// Takes what is new since the last time: at first, everything.
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
