import CRDT
import Wire

extension Credentials {
    /// A sign-in on one device, from the password to the sign-out.
    ///
    /// The device proves that it may go on by a refresh token that it uses once and that is
    /// replaced each time. An end is final: it wins over every renewal that had not seen it.
    public struct SignIn: Hashable, Sendable {
        /// The most sign-ins of an account on one side of a network partition; one more ends the
        /// one that was not used for longest.
        public static let countMax = 32

        public let id: SignInID
        public let began: Stamp
        /// The time of the earliest password by which a node judged it; nil where an earlier
        /// version began it.
        private(set) var password: HybridTimestamp?
        /// Nil once an earlier version has ended the sign-in.
        private(set) var renewalField: Register<Renewal>?

        init(_ id: SignInID, _ secret: SecretDigest, began: Stamp, password: HybridTimestamp?) {
            self.id = id
            self.began = began
            self.password = password
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

        mutating func merge(_ other: SignIn) {
            // The earliest: an end that one replica has derived from it holds for all of them.
            password = [password, other.password].compactMap(\.self).min()
            guard isOpen, other.isOpen else {
                renewalField = nil
                return
            }
            renewalField.merge(other.renewalField)
        }
    }

    /// The end of a sign-in, which is final.
    ///
    /// It names the sign-in by its beginning, too, so that it may be recorded where the sign-in is
    /// not known.
    struct SignInEnd: Hashable, Sendable {
        /// The most ends that a change keeps one by one; the earliest become `endedThrough`.
        static let countMax = 128

        let id: SignInID
        let began: HybridTimestamp
        let reason: Reason

        /// The greatest counts where two sides ended one sign-in; the raw values are on the wire.
        enum Reason: UInt8, Comparable, Sendable {
            /// The password by which it was judged was changed, or the account removed.
            case superseded = 1
            case signedOut = 2
            /// Others took its place.
            case displaced = 3

            static func < (left: Reason, right: Reason) -> Bool { left.rawValue < right.rawValue }

            var refusal: Refusal {
                switch self {
                case .superseded: .signInSuperseded
                case .signedOut: .signInEnded
                case .displaced: .signInDisplaced
                }
            }
        }

        func covers(_ signIn: SignIn) -> Bool { signIn.id == id && signIn.began.time <= began }

        func merged(with other: SignInEnd) -> SignInEnd {
            SignInEnd(
                id: id, began: max(began, other.began), reason: max(reason, other.reason))
        }
    }

    /// A sign-in with the password by which it was judged, as it is stored.
    struct JudgedSignIn: Hashable {
        let signIn: SignIn

        /// Nil for a sign-in that names no password.
        init?(_ signIn: SignIn) {
            guard signIn.password != nil else { return nil }
            self.signIn = signIn
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

    init(_ signIn: Credentials.SignIn, judgedBy password: HybridTimestamp) {
        self = signIn
        self.password = password
    }
}

extension Credentials.JudgedSignIn: WireValue {
    func encode(into writer: inout ByteWriter) {
        signIn.encode(into: &writer)
        (signIn.password ?? .zero).encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let plain = try Credentials.SignIn(from: &reader)
        signIn = Credentials.SignIn(plain, judgedBy: try HybridTimestamp(from: &reader))
    }
}

extension Credentials.SignInEnd.Reason: NumberedChoice, CaseIterable {
    static var noun: String { "a reason of the end of a sign-in" }
    var number: UInt8 { rawValue }
}

extension Credentials.SignInEnd: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(id)
        began.encode(into: &writer)
        reason.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        began = try HybridTimestamp(from: &reader)
        reason = try Reason(from: &reader)
    }
}
