import CRDT
import Wire

extension Signing {
    /// A change of the keys or the revocations, which a node makes.
    public enum Action: Hashable, Sendable {
        case addKey(SigningKeyID, SecretDigest)
        /// Revokes the access tokens of a user, or of one sign-in, that were issued no later than a
        /// time.
        case revoke(UserID, through: HybridTimestamp)
    }
}

extension Signing.Action {
    /// Returns whether the action changes anything.
    func judge(_ signing: Signing?) -> Bool {
        switch self {
        case .addKey(let id, _): !(signing?.keys.contains { $0.id == id } ?? false)
        case .revoke(let name, let time):
            time > max(signing?.floor ?? .zero, signing?.revocation(of: name)?.time ?? .zero)
        }
    }

    func applied(to content: Signing?, _ author: Authorship) -> Signing {
        var signing = content ?? Signing()
        switch self {
        case .addKey(let id, let secret):
            signing.add(Signing.Key(id: id, secret: secret, created: author.stamp))
        case .revoke(let name, let time): signing.revoke(name, at: time)
        }
        return signing
    }
}

extension Signing.Action: DocumentAction {
    public func standing(of operation: Stamp, by user: UserID, in content: Signing) -> Standing {
        switch self {
        case .addKey: content.keys.contains { $0.created == operation } ? .done : .new
        // The change is the same whenever it is executed.
        case .revoke: .new
        }
    }

    public func nameBytes(by user: UserID) -> Int { 2 * nameBytesMax }

    public var growth: ActionGrowth { .settles }

    static let kind: UInt8 = 41

    public var kind: UInt8 { Signing.Action.kind }

    public func encodeRest(into writer: inout ByteWriter) { encode(into: &writer) }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        guard kind == Signing.Action.kind else { return nil }
        try self.init(from: &reader)
    }
}

extension Signing.Action: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .addKey(let id, let secret):
            writer.write(1)
            writer.write(id)
            writer.write(secret)
        case .revoke(let name, let time):
            writer.write(2)
            writer.write(name)
            time.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .addKey(try reader.readName(), try reader.readName())
        case 2: self = .revoke(try reader.readName(), through: try HybridTimestamp(from: &reader))
        default: throw .unknown
        }
    }
}
