/// What kind of content a message holds.
public enum MessageType: String, CaseIterable, Sendable {
    case text
    case image
    case voice
    case system
    case action
}
