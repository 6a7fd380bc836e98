import CRDT
import Wire

/// The sign-in that registered a device, and with which the device ends.
public struct DeviceSignIn: Hashable, Sendable {
    /// The address under which the account is stored.
    public let address: AddressID
    public let id: SignInID
    /// When the sign-in began, by which one that is not known is judged.
    public let began: HybridTimestamp

    public init(address: AddressID, id: SignInID, began: HybridTimestamp) {
        self.address = address
        self.id = id
        self.began = began
    }
}

/// The circumstances in which a device was given its token.
public struct DeviceRegistration: Hashable, Sendable {
    /// Nil where no account of the cluster registered it: an operator did, or an app with sign-ins
    /// of its own.
    public let signIn: DeviceSignIn?

    public init(signIn: DeviceSignIn?) { self.signIn = signIn }
}

/// The answer to whether a sign-in goes on.
public enum SignInStanding: Hashable, Sendable, CaseIterable {
    case goesOn
    case ended
    /// Not known here, and perhaps on its way.
    case unknown
}

extension Credentials {
    /// Returns whether the sign-in of a user goes on, as far as this replica knows.
    public func standing(of signIn: DeviceSignIn, of user: UserID) -> SignInStanding {
        guard let account = account(of: user) else { return .unknown }
        guard account.isPresent else {
            // Of a later life nothing may be here yet.
            return account.removed?.time ?? .zero < signIn.began ? .unknown : .ended
        }
        guard !account.isDisabled else { return .ended }
        if let known = account.signIn(signIn.id) { return known.isOpen ? .goesOn : .ended }
        let refusal = account.refusal(of: signIn.id, begunAt: signIn.began)
        return refusal == .signInBehind ? .unknown : .ended
    }
}

// MARK: Coding

extension DeviceSignIn: Comparable {
    public static func < (left: DeviceSignIn, right: DeviceSignIn) -> Bool {
        (left.began, left.id, left.address) < (right.began, right.id, right.address)
    }
}

extension DeviceRegistration: Comparable {
    public static func < (left: DeviceRegistration, right: DeviceRegistration) -> Bool {
        Clearable(left.signIn) < Clearable(right.signIn)
    }
}

extension DeviceSignIn: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(address)
        writer.write(id)
        began.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        address = try reader.readName()
        id = try reader.readName()
        began = try HybridTimestamp(from: &reader)
    }
}

extension DeviceRegistration: WireValue {
    public func encode(into writer: inout ByteWriter) { signIn.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        signIn = try Optional(from: &reader)
    }
}

extension SignInStanding: NumberedChoice {
    public static var noun: String { "whether a sign-in goes on" }

    public var number: UInt8 {
        switch self {
        case .goesOn: 1
        case .ended: 2
        case .unknown: 3
        }
    }
}
