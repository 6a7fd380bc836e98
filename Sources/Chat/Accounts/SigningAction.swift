import CRDT
import Wire

extension Signing {
    /// A change of the keys or the revocations, which a node makes.
    ///
    /// Every node stores all keys and revocations and makes such a change itself. A shard makes one
    /// only for a node of an earlier version.
    public enum Action: Hashable, Sendable {
        case addKey(SigningKeyID, SecretDigest)
        /// Revokes the access tokens of a user, or of one sign-in, that were issued no later than a
        /// time.
        case revoke(UserID, through: HybridTimestamp)
    }

    static let actions: [any DocumentAction.Type] = [Action.self]
}

extension Mutation {
    public convenience init(_ action: Signing.Action) {
        self.init(action, at: .signing, by: Mutation.cluster)
    }
}

extension Signing.Action: DocumentAction {
    public static let codes = [ActionCode(41, 1), ActionCode(41, 2)]

    public var code: ActionCode {
        switch self {
        case .addKey: Self.codes[0]
        case .revoke: Self.codes[1]
        }
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        if code == Self.codes[0] {
            self = .addKey(try reader.readName(), try reader.readName())
        } else {
            self = .revoke(try reader.readName(), through: try HybridTimestamp(from: &reader))
        }
    }

    public func encodeRest(into writer: inout ByteWriter) {
        switch self {
        case .addKey(let id, let secret):
            writer.write(id)
            writer.write(secret)
        case .revoke(let name, let time):
            writer.write(name)
            time.encode(into: &writer)
        }
    }

    public func judge(
        _ signing: Signing?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        switch self {
        case .addKey(let id, _): !(signing?.keys.contains { $0.id == id } ?? false)
        case .revoke(let name, let time):
            time > max(signing?.floor ?? .zero, signing?.revocation(of: name)?.time ?? .zero)
        }
    }

    public func applied(
        to content: Signing?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Signing {
        var signing = content ?? Signing()
        switch self {
        case .addKey(let id, let secret):
            signing.add(Signing.Key(id: id, secret: secret, created: author.stamp))
        case .revoke(let name, let time): signing.revoke(name, at: time)
        }
        return signing
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Signing) -> Standing {
        switch self {
        case .addKey: content.keys.contains { $0.created == operation } ? .done : .new
        // The change is the same whenever it is executed.
        case .revoke: .new
        }
    }

    public func nameBytes(by user: UserID) -> Int { 2 * nameBytesMax }
    public var growth: ActionGrowth { .settles }
    public var isForOperators: Bool { true }
}
