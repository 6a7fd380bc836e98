/// The secret with which a client signs in; printing a `Secret` never shows the secret's text.
public struct Secret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var description: String { "a secret" }

    public var customMirror: Mirror { Mirror(self, children: []) }
}
