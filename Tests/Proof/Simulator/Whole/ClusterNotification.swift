import JSON
import LineProtocol

/// A notification as a list or a push has it.
struct ClusterNotification {
    let id: String
    let kind: String
    let conversation: String
    let message: String
    let from: String
    /// Nil where it was withdrawn.
    let text: String?

    init(_ line: ReplyFields) {
        id = line["id"] ?? ""
        kind = line["kind"] ?? ""
        conversation = line["conversation"] ?? ""
        message = line["message"] ?? ""
        from = line["from"] ?? ""
        text = line["text"]
    }

    init?(_ value: JSONValue) {
        func text(_ name: String) -> String? {
            guard case .text(let text)? = value[name] else { return nil }
            return text
        }
        guard let id = text("id"), let kind = text("kind"),
            let conversation = text("conversation"), let message = text("message"),
            let from = text("from")
        else { return nil }
        self.id = id
        self.kind = kind
        self.conversation = conversation
        self.message = message
        self.from = from
        self.text = text("text")
    }
}
