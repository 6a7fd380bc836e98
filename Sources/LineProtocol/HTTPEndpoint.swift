import Chat

/// A request of the API that a verb answers: a method and a path, and the form of its answer.
///
/// What the request takes follows from the verb's row: its options and its text are keys of the
/// body, or of the query where the method has no body.
public struct HTTPEndpoint: Sendable {
    /// The methods, in the order in which descriptions list those of a path.
    public enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// The groups in which descriptions list the requests, in their order.
    ///
    /// A conversation is what its participants share; the list of conversations is a user's own
    /// view of them. Under `chats` the same list has its earlier name.
    public enum Group: String, CaseIterable, Sendable {
        case conversations, messages, pins, marks, items, profiles, blocks, devices, events, chats
    }

    /// The origin of an argument of the verb's line.
    public enum Source: Sendable, Equatable {
        /// The user who is signed in.
        case user
        case path(String)
        case key(String)
        /// A key; without it an id is made, which the answer shows.
        case newID(String)
        /// The user who is signed in, and the users that a key lists.
        case userAnd(String)
        /// A key with names, as a list or between commas.
        case names(String)
        /// A key with a flag, as `on` or `off`.
        case toggle(String)

        /// The key of the body or the query; nil for an argument that is found elsewhere.
        public var key: String? {
            switch self {
            case .user, .path: nil
            case .key(let key), .newID(let key), .userAnd(let key), .names(let key),
                .toggle(let key):
                key
            }
        }
    }

    /// An option of the verb that the server gives.
    public struct Addition: Sendable {
        public let option: Option
        public let value: String
        /// The key of the body or the query, a flag, that leaves the option out where it is true;
        /// nil for an option that is always given.
        public let key: String?

        static func always(_ option: Option, _ value: String) -> Addition {
            Addition(option: option, value: value, key: nil)
        }

        static func unless(_ key: String, _ option: Option, _ value: String) -> Addition {
            Addition(option: option, value: value, key: key)
        }
    }

    /// The form in which the answer shows a response.
    public enum Answer: Sendable {
        /// An object of the fields of the status with these keys.
        case status([String])
        /// The fields of the only row.
        case one(ViewDescription)
        /// All rows as a list under this name, and the fields of the status with these keys.
        case list(String, ViewDescription, [String])

        public static func one<Subject>(_ view: View<Subject>) -> Answer {
            .one(ViewDescription(view))
        }

        public static func list<Subject>(
            _ name: String, _ view: View<Subject>, _ keys: [String] = []
        ) -> Answer {
            .list(name, ViewDescription(view), keys)
        }

        /// How its rows are shown; nil for an answer without rows.
        public var view: ViewDescription? {
            switch self {
            case .status: nil
            case .one(let view), .list(_, let view, _): view
            }
        }
    }

    public let method: Method
    /// Below `/v1`, its parameters in braces; each has the name of an argument.
    public let path: String
    /// The name of the request in descriptions, as a client's method would be called.
    public let operation: String
    public let group: Group
    public let answer: Answer
    /// The sources of arguments that are neither in the path nor the signed-in user, by their
    /// index; by default a key with the argument's name.
    public let sources: [Int: Source]
    /// Whether the request concerns the connection that it is sent on, and so needs one that stays.
    public let isForSockets: Bool
    /// Whether the request has the options of the verb, which may make it a write.
    public let hasOptions: Bool
    public let additions: [Addition]

    /// The bytes at which a page of a history ends before it has as many messages as were asked for
    /// (1 MiB): each may have six times as many in JSON.
    public static let pageBytes = 1 << 20
    /// The most participants that a list names of each conversation, beside their number.
    public static let namesListed = 8

    public init(
        _ method: Method, _ path: String, _ operation: String, in group: Group,
        _ answer: Answer = .status([]), sources: [Int: Source] = [:], isForSockets: Bool = false,
        hasOptions: Bool = true, adding additions: Addition...
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        self.group = group
        self.answer = answer
        self.sources = sources
        self.isForSockets = isForSockets
        self.hasOptions = hasOptions
        self.additions = additions
    }
}

extension HTTPEndpoint {
    /// Whether descriptions list an endpoint before another: by group, path and method.
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
