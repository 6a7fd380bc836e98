import CRDT
import Wire

extension Credentials {
    /// A sign-in on one device, from the check of the password to the sign-out.
    ///
    /// The device renews its access with a refresh token, which can be used once and is replaced at
    /// each renewal. The end of a sign-in is final: it wins over every concurrent renewal.
    public struct SignIn: Hashable, Sendable {
        /// The most sign-ins of an account on one side of a network partition; a further sign-in
        /// ends the least recently used one.
        public static let countMax = 32

        public let id: SignInID
        public let began: Stamp
        /// The time at which the password was set by which a node permitted the sign-in, the
        /// earliest of several; nil if a node of an earlier version began the sign-in.
        private(set) var password: HybridTimestamp?
        /// The refresh token; nil once a node of an earlier version has ended the sign-in.
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
            // The earliest time is kept: if one replica has ended the sign-in because of that time,
            // the others end it, too.
            password = [password, other.password].compactMap(\.self).min()
            guard isOpen, other.isOpen else {
                renewalField = nil
                return
            }
            renewalField.mergeTogether(other.renewalField)
        }
    }

    /// The end of a sign-in, which is final.
    ///
    /// The end contains the time at which the sign-in began, so that a replica can record the end
    /// of a sign-in that it does not know.
    struct SignInEnd: Hashable, Sendable {
        /// The most ends that a change keeps; `endedThrough` replaces the earliest ones.
        static let countMax = 128

        let id: SignInID
        let began: HybridTimestamp
        let reason: Reason

        /// The reason for the end of a sign-in.
        ///
        /// Of two ends with the same `began`, the one with the greatest reason counts; the raw
        /// values are on the wire.
        enum Reason: UInt8, Comparable, Sendable {
            /// The password that permitted the sign-in was changed, or the account was removed.
            case superseded = 1
            case signedOut = 2
            /// Newer sign-ins of the account replaced this sign-in.
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

        /// Returns the end with the later `began`, together with its reason.
        ///
        /// The reason of the other end does not count: a replica that has dropped that end, because
        /// all sign-ins had ended by then, could not take it into account.
        func merged(with other: SignInEnd) -> SignInEnd {
            (began, reason) < (other.began, other.reason) ? other : self
        }
    }

    /// The stored form of a sign-in that includes the time of the password that permitted it.
    struct JudgedSignIn: Hashable {
        let signIn: SignIn

        /// Creates the form; nil if the sign-in has no password time.
        init?(_ signIn: SignIn) {
            guard signIn.password != nil else { return nil }
            self.signIn = signIn
        }
    }

    /// The refresh token of a device, and the request with which the device got it.
    public struct Renewal: Hashable, Sendable {
        public let secret: SecretDigest
        /// The refresh token that this token replaced; nil for the first token of a sign-in.
        public let replaced: SecretDigest?
        /// The client's own id of its request, which reveals a repetition; nil if the client sent
        /// none.
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
