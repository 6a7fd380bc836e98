/// A name that people and programs give to things: 1–64 bytes of `A–Z a–z 0–9 _ . : @ -`.
///
/// Each kind of thing has a type of its own, so that a user cannot be passed where a conversation
/// is expected. A value of such a type has been checked, and is not checked again.
public protocol Name: Hashable, Comparable, Sendable, CustomStringConvertible, WireValue {
    var text: String { get }
    init(checked text: String)
}

/// The greatest length of a name, in bytes.
public let nameBytesMax = 64

extension Name {
    /// Creates a name from a text; nil where the text is not a valid name.
    public init?(_ text: String) {
        let isValid =
            text.utf8.withContiguousStorageIfAvailable { isName(UnsafeRawBufferPointer($0)) }
            ?? isName(text.utf8)
        guard isValid else { return nil }
        self.init(checked: text)
    }

    public var description: String { text }

    public static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

/// Whether these bytes are a valid name.
public func isName(_ bytes: some Collection<UInt8>) -> Bool {
    (1...nameBytesMax).contains(bytes.count) && bytes.allSatisfy(isNameByte)
}

/// Whether these bytes are a valid name.
///
/// Not generic, since a generic function is not specialised for callers in other modules.
public func isName(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard (1...nameBytesMax).contains(bytes.count) else { return false }
    for byte in bytes where !isNameByte(byte) { return false }
    return true
}

private func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"): true
    case UInt8(ascii: "@"), UInt8(ascii: "-"): true
    default: false
    }
}

public struct NodeName: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

public struct ConversationID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

public struct UserID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

public struct MessageID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

public struct ItemID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// One of a user's devices, named by the app on it.
public struct DeviceID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// A stream of events: the process that serves the stream, and the stream's session in the process.
public struct StreamID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }

    public init(process: ProcessID, session: UInt64) {
        self.init(checked: "\(hexadecimal(process.high)).\(session)")
    }

    /// Returns the number of the stream's session in the process; nil if another process made the
    /// id.
    public func session(in process: ProcessID) -> UInt64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == hexadecimal(process.high) else { return nil }
        return UInt64(parts[1])
    }
}

/// A notification in a device's list.
public struct NotificationID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// An e-mail address as the name of a document: a digest of it, made by who reads the address.
public struct AddressID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// A sign-in of a user on one device, from the password to the sign-out.
public struct SignInID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// A one-way digest of a secret; whoever reads it cannot tell the secret.
public struct SecretDigest: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// A file that a user has sent in a conversation, or is about to send.
public struct FileID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// A part of a file: the digest of its bytes.
public struct PartID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// A key with which the cluster signs access tokens.
public struct SigningKeyID: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}

/// The name of a cluster, set by `--cluster`.
public struct ClusterName: Name {
    public let text: String
    public init(checked text: String) { self.text = text }
}
