/// The secret with which a client signs in; printing it never shows it.
public struct Secret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { "a secret" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
