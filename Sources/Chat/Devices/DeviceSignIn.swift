import CRDT
import Wire

/// The sign-in that registered a device; the device is removed when the sign-in ends.
public struct DeviceSignIn: Hashable, Sendable {
    /// The address under which the account is stored.
    public let address: AddressID
    public let id: SignInID
    /// The time at which the sign-in began; a replica without a record of the sign-in decides by
    /// this time whether it has ended.
    public let began: HybridTimestamp

    public init(address: AddressID, id: SignInID, began: HybridTimestamp) {
        self.address = address
        self.id = id
        self.began = began
    }
}

/// The sign-in, if any, with which a device got its push token.
public struct DeviceRegistration: Hashable, Sendable {
    /// The sign-in that registered the device; nil if an operator registered it, or an app that has
    /// its own sign-ins.
    public let signIn: DeviceSignIn?

    public init(signIn: DeviceSignIn?) { self.signIn = signIn }
}

/// The answer to the question whether a sign-in is still valid.
public enum SignInStanding: Hashable, Sendable, CaseIterable {
    case goesOn
    case ended
    /// The replica has no record of the sign-in, which may still arrive.
    case unknown
}

extension Credentials {
    /// Returns whether the sign-in of a user is still valid, as far as this replica knows.
    public func standing(of signIn: DeviceSignIn, of user: UserID) -> SignInStanding {
        guard let account = account(of: user) else { return .unknown }
        guard account.isPresent else {
            // If the sign-in began after the removal, the account's next life may not have reached
            // this replica yet.
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
