import Chat

/// An HTTP endpoint of the API that a verb answers: a method, a path, and the form of the answer.
///
/// The verb's row determines the parameters of the endpoint. The verb's options and its text are
/// keys of the body, or of the query if the method has no body.
public struct HTTPEndpoint: Sendable {
    /// The HTTP methods, in the order in which API descriptions list the endpoints of one path.
    public enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// The groups in which API descriptions list the endpoints, in their order.
    ///
    /// The group `conversations` is about the state that participants share, and about a user's
    /// list of conversations. The group `chats` contains the same list under its earlier path.
    public enum Group: String, CaseIterable, Sendable {
        case conversations, messages, pins, marks, items, profiles, blocks, devices, events, chats
    }

    /// The origin of the value of one argument of the verb.
    public enum Source: Sendable, Equatable {
        /// The signed-in user.
        case user
        case path(String)
        case key(String)
        /// A key of the request; without the key, the node creates an id, which the answer shows.
        case newID(String)
        /// The signed-in user, and the users that a key of the request lists.
        case userAnd(String)
        /// A key whose value is a list of names, or one text with commas between the names.
        case names(String)
        /// A key whose value is a flag, passed to the verb as `on` or `off`.
        case toggle(String)

        /// The key of the body or the query; nil for an argument that no key specifies.
        public var key: String? {
            switch self {
            case .user, .path: nil
            case .key(let key), .newID(let key), .userAnd(let key), .names(let key),
                .toggle(let key):
                key
            }
        }
    }

    /// An option of the verb that the server adds to a client's request.
    public struct Addition: Sendable {
        public let option: Option
        public let value: String
        /// The key of a flag in the body or the query that, if true, makes the server leave out the
        /// option; nil for an option that the server always adds.
        public let key: String?

        static func always(_ option: Option, _ value: String) -> Addition {
            Addition(option: option, value: value, key: nil)
        }

        static func unless(_ key: String, _ option: Option, _ value: String) -> Addition {
            Addition(option: option, value: value, key: key)
        }
    }

    /// The connections on which clients may send a request.
    public enum Carriers: Sendable {
        case any
        /// Only a WebSocket, since the request concerns the connection on which it is sent.
        case socket
        /// A WebSocket; or any connection, if this option names the stream that the request
        /// concerns.
        case socketOr(Option)
    }

    /// The form of the JSON answer to a request.
    public enum Answer: Sendable {
        /// An object of those fields of the response's status whose keys are listed.
        case status([String])
        /// An object of the fields of the response's only row.
        case one(ViewDescription)
        /// An object of a list of all rows, under this name, and the status fields with these keys.
        case list(String, ViewDescription, [String])

        public static func one<Subject>(_ view: View<Subject>) -> Answer {
            .one(ViewDescription(view))
        }

        public static func list<Subject>(
            _ name: String, _ view: View<Subject>, _ keys: [String] = []
        ) -> Answer {
            .list(name, ViewDescription(view), keys)
        }

        /// The view of the answer's rows; nil for an answer without rows.
        public var view: ViewDescription? {
            switch self {
            case .status: nil
            case .one(let view), .list(_, let view, _): view
            }
        }
    }

    public let method: Method
    /// The path below `/v1`; parameters are in braces and have the names of the verb's arguments.
    public let path: String
    /// The `operationId` in API descriptions, named like a client's method: `sendMessage`.
    public let operation: String
    public let group: Group
    public let answer: Answer
    /// The sources of those arguments for which the default is wrong, by the argument's index.
    ///
    /// By default an argument's value comes from the path, from the signed-in user, or from a key
    /// with the argument's name.
    public let sources: [Int: Source]
    public let carriers: Carriers
    /// Whether the endpoint accepts the verb's options, which may make the request a write.
    public let hasOptions: Bool
    public let additions: [Addition]

    /// The bytes at which a page of a history ends before it has the requested number of messages
    /// (1 MiB).
    ///
    /// Escapes can make each message six times as long in JSON.
    public static let pageBytes = 1 << 20
    /// The most participants whose names a list shows for each conversation, beside their number.
    public static let namesListed = 8

    public init(
        _ method: Method, _ path: String, _ operation: String, in group: Group,
        _ answer: Answer = .status(["at"]), sources: [Int: Source] = [:], carriers: Carriers = .any,
        hasOptions: Bool = true, adding additions: Addition...
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        self.group = group
        self.answer = answer
        self.sources = sources
        self.carriers = carriers
        self.hasOptions = hasOptions
        self.additions = additions
    }
}

extension HTTPEndpoint {
    /// Whether API descriptions list `left` before `right`: the order is by group, path and method.
    public static func < (left: HTTPEndpoint, right: HTTPEndpoint) -> Bool {
        left.order < right.order
    }

    private var order: (Int, String, Int) {
        (
            Group.allCases.firstIndex(of: group) ?? 0, path,
            Method.allCases.firstIndex(of: method) ?? 0
        )
    }
}
