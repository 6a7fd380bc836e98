import Foundation

/// An HTTP request to a node.
struct Request: Equatable, Sendable {
    enum Method: String, Sendable {
        case delete = "DELETE"
        case get = "GET"
        case patch = "PATCH"
        case post = "POST"
        case put = "PUT"
    }

    /// A JSON value of a body; a member that is nil is left out.
    indirect enum Value: Equatable, Sendable, Encodable {
        case text(String)
        case list([String])
        case flag(Bool)
        case null

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .list(let list): try container.encode(list)
            case .flag(let flag): try container.encode(flag)
            case .null: try container.encodeNil()
            }
        }
    }

    var method: Method
    /// The path with its query, whose names and values are percent-encoded.
    var path: String
    var body: [String: Value] = [:]
    /// The bytes of a file, which are sent in place of a body.
    var file: Data?

    /// The body in JSON, with its keys in order; nil if it is empty.
    var json: Data? {
        guard !body.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(body)
        } catch {
            preconditionFailure("Texts, lists of texts and flags are written as JSON: \(error)")
        }
    }

    /// What is sent, and its media type; nil for a request without content.
    var content: (type: String, bytes: Data)? {
        if let file { return ("application/octet-stream", file) }
        return json.map { ("application/json", $0) }
    }

    /// A request of which only matters that a node answers.
    static let probe = Request(method: .get, path: "/v1")

    /// Returns the request that uploads a file, or downloads it.
    static func file(
        _ id: String, in conversation: String, uploading bytes: Data? = nil
    ) -> Request {
        let path = "/v1/conversations/" + encoded(conversation) + "/blobs/" + encoded(id)
        return Request(method: bytes == nil ? .get : .put, path: path, file: bytes)
    }

    /// Returns the same request, answered with exact times.
    var exact: Request {
        var exact = self
        exact.path += path.contains("?") ? "&times=exact" : "?times=exact"
        return exact
    }
}

extension Action {
    /// The request that performs the action.
    ///
    /// Every request may arrive twice: the ids of new objects are this device's, and the others are
    /// sent with a stamp.
    var request: Request {
        switch self {
        case .create(let conversation, let title, let emails):
            let body: [String: Request.Value?] = [
                "id": .text(conversation), "title": title.isEmpty ? nil : .text(title),
                "emails": .list(emails),
            ]
            return Request(
                method: .post, path: "/v1/conversations", body: body.compactMapValues { $0 })
        case .send(_, let message, let draft):
            let body: [String: Request.Value?] = [
                "id": .text(message), "type": .text(draft.kind.rawValue),
                "text": .text(draft.text), "blob": draft.blob.map(Request.Value.text),
                "preview": draft.preview.map(Request.Value.text),
            ]
            return Request(
                method: .post, path: path("messages"), body: body.compactMapValues { $0 })
        case .edit(_, _, let text):
            return Request(method: .patch, path: messagePath, body: ["text": .text(text)])
        case .delete: return Request(method: .delete, path: messagePath + "?for=me")
        case .deleteForEveryone:
            return Request(method: .delete, path: messagePath + "?for=everyone")
        case .restore: return Request(method: .post, path: messagePath + "/restore")
        case .pin: return Request(method: .put, path: path("pins", message ?? ""))
        case .unpin: return Request(method: .delete, path: path("pins", message ?? ""))
        case .archive: return Request(method: .put, path: chatPath + "/archive")
        case .unarchive: return Request(method: .delete, path: chatPath + "/archive")
        case .hide: return Request(method: .delete, path: chatPath)
        case .leave: return Request(method: .post, path: path("leave"))
        case .addItem, .editItem, .completeItem, .deleteItem: return itemRequest
        case .setProfile(let name, let photo):
            let body = ["name": name, "photo": photo].compactMapValues { $0 }
            return Request(
                method: .patch, path: "/v1/profile", body: body.mapValues(Request.Value.text))
        }
    }

    private var itemRequest: Request {
        switch self {
        case .addItem(let draft):
            let fields = [
                "id": draft.id, "title": draft.title, "due": draft.due,
                "priority": draft.priority, "chat": draft.chat, "message": draft.message,
            ]
            let body = fields.compactMapValues { $0.map(Request.Value.text) }
            return Request(method: .post, path: "/v1/items", body: body)
        case .editItem(let item, let changes):
            var body: [String: Request.Value] = [:]
            if let title = changes.title { body["title"] = .text(title) }
            if let due = changes.due { body["due"] = due.text.map(Request.Value.text) ?? .null }
            if let priority = changes.priority {
                body["priority"] = priority.text.map(Request.Value.text) ?? .null
            }
            return Request(method: .patch, path: "/v1/items/" + encoded(item), body: body)
        case .completeItem(let item, let isDone):
            return Request(
                method: isDone ? .put : .delete, path: "/v1/items/" + encoded(item) + "/done")
        case .deleteItem(let item):
            return Request(method: .delete, path: "/v1/items/" + encoded(item))
        default: return Request(method: .get, path: "/v1/items")
        }
    }

    private var messagePath: String { path("messages", message ?? "") }

    private var chatPath: String { "/v1/chats/" + encoded(conversation ?? "") }

    /// Returns the path of something in the action's conversation.
    private func path(_ parts: String...) -> String {
        "/v1/conversations/"
            + ([conversation ?? ""] + parts).map(encoded).joined(separator: "/")
    }
}

/// Returns a name as a part of a path.
///
/// The letters of names, digits and `_ . : @ -` stay.
func encoded(_ name: String) -> String {
    var text = ""
    for byte in name.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"):
            text.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let hex = String(byte, radix: 16, uppercase: true)
            text += "%" + (hex.utf8.count < 2 ? "0" : "") + hex
        }
    }
    return text
}
