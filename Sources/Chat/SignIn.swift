import CRDT
import Wire

extension Credentials {
    /// A sign-in on one device, from the password to the sign-out.
    ///
    /// The device proves that it may go on by a refresh token that it uses once and that is
    /// replaced each time. An end is final: it wins over every renewal that had not seen it.
    public struct SignIn: Hashable, Sendable {
        /// The most sign-ins of an account that are kept, ended ones too; one more ends the oldest.
        public static let countMax = 32

        public let id: SignInID
        public let began: Stamp
        /// Nil once the sign-in has ended.
        private(set) var renewalField: Register<Renewal>?

        init(_ id: SignInID, _ secret: SecretDigest, began: Stamp) {
            self.id = id
            self.began = began
            renewalField = Register(
                Renewal(secret: secret, replaced: nil, request: nil), at: began)
        }

        public var isOpen: Bool { renewalField != nil }
        var renewal: Renewal? { renewalField?.value }
        /// The digest of the refresh token that the device has; nil once the sign-in has ended.
        public var secret: SecretDigest? { renewal?.secret }
        var renewed: Stamp? { renewalField?.stamp }
        var greatestTime: HybridTimestamp { max(began.time, renewalField?.stamp.time ?? .zero) }

        mutating func renew(_ renewal: Renewal, at stamp: Stamp) {
            if isOpen { renewalField = Register(renewal, at: stamp) }
        }

        mutating func end() { renewalField = nil }

        mutating func merge(_ other: SignIn) {
            guard isOpen, other.isOpen else { return end() }
            renewalField.merge(other.renewalField)
        }
    }

    /// The refresh token that a device has, and the request that brought it.
    public struct Renewal: Hashable, Sendable {
        public let secret: SecretDigest
        /// The token that this one replaced; nil for the first.
        public let replaced: SecretDigest?
        /// The client's own name for its request, by which a repetition is recognised; nil where it
        /// gave none.
        public let request: SecretDigest?

        public init(secret: SecretDigest, replaced: SecretDigest?, request: SecretDigest?) {
            self.secret = secret
            self.replaced = replaced
            self.request = request
        }
    }
}

extension Credentials.Renewal: Comparable {
    public static func < (left: Credentials.Renewal, right: Credentials.Renewal) -> Bool {
        (left.secret, left.replaced?.text ?? "", left.request?.text ?? "")
            < (right.secret, right.replaced?.text ?? "", right.request?.text ?? "")
    }
}

extension Credentials.Renewal: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(secret)
        replaced.encode(into: &writer)
        request.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        secret = try reader.readName()
        replaced = try Optional(from: &reader)
        request = try Optional(from: &reader)
    }
}

extension Credentials.SignIn: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        began.encode(into: &writer)
        renewalField.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        began = try Stamp(from: &reader)
        renewalField = try Optional(from: &reader)
    }
}
