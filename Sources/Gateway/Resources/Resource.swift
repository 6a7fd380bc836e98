import Admin
import HTTP
import JSON
import LineProtocol
import Wire

/// A request of the API: a method and a path, and the verb that answers it.
///
/// What the request takes follows from the verb's row: its options and its text are keys of the
/// body, or of the query where the method has no body.
///
/// A class, though it is immutable, for the reason that `Verb` is one: each request passes it on.
final class Resource: Sendable {
    /// The part of a path between two slashes.
    enum Segment: Sendable, Equatable {
        case word(String)
        case parameter(String)
    }

    /// The origin of an argument of the verb's line.
    enum Source: Sendable, Equatable {
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
        var key: String? {
            switch self {
            case .user, .path: nil
            case .key(let key), .newID(let key), .userAnd(let key), .names(let key),
                .toggle(let key):
                key
            }
        }
    }

    /// An option of the verb that the gateway gives.
    struct Addition: Sendable {
        let option: String
        let value: String
        /// The key of the body or the query, a flag, that leaves the option out where it is true;
        /// nil for an option that is always given.
        let key: String?

        static func always(_ option: String, _ value: String) -> Addition {
            Addition(option: option, value: value, key: nil)
        }

        static func unless(_ key: String, _ option: String, _ value: String) -> Addition {
            Addition(option: option, value: value, key: key)
        }
    }

    let method: Method
    let segments: [Segment]
    let verb: Verb
    let traits: Verb.Traits
    /// For each argument of the verb.
    let sources: [Source]
    let answer: AnswerForm
    /// The options of the verb that the request may have.
    let options: [Option]
    /// Whether the request concerns the connection that it is sent on, and so needs one that stays.
    let isForSockets: Bool
    /// The options that the gateway gives, each with its value.
    let additions: [(option: Option, addition: Addition)]
    /// The path as documents show it: `/v1/chats/{conversation}`.
    let path: String
    /// What the request is called in descriptions, as a client's method would be: `sendMessage`.
    let operation: String
    /// The keys of the body or the query.
    let keys: [String]
    /// The key of the text; nil for a verb without one.
    let textKey: String?
    /// Whether the parameters come in a body.
    let hasBody: Bool

    /// - Parameters:
    ///   - path: below `/v1`, its parameters in braces. Each has the name of an argument.
    ///   - operation: what the request is called in descriptions.
    ///   - sources: those of arguments that are neither in the path nor the signed-in user, by
    ///     their index; by default a key with the argument's name.
    ///   - hasOptions: whether the request has the options of the verb, which may make it a write.
    init(
        _ method: Method, _ path: String, _ verbName: String, as operation: String,
        _ answer: AnswerForm, sources: [Int: Source] = [:], isForSockets: Bool = false,
        hasOptions: Bool = true, adding additions: Addition...
    ) {
        guard let verb = Verb.all.first(where: { $0.name == verbName }) else {
            preconditionFailure("a resource names a verb of the table")
        }
        let segments = path.split(separator: "/").map { part in
            part.first == "{"
                ? Segment.parameter(String(part.dropFirst().dropLast())) : .word(String(part))
        }
        let sources: [Source] = (verb.required + verb.optional).enumerated().map { index, label in
            let name = String(label.dropFirst().prefix { $0 != ">" })
            if let source = sources[index] { return source }
            if segments.contains(.parameter(name)) { return .path(name) }
            return name == "user" || name == "by" ? .user : .key(name)
        }
        let textKey = verb.text.map { String($0.dropFirst().dropLast()) }
        let options = hasOptions ? verb.options.filter { !$0.isOfNodes } : []
        self.method = method
        self.path = "/v1/" + path
        self.operation = operation
        traits = Verb.traits(of: verbName)
        self.additions = additions.map { addition in
            guard let option = verb.options.first(where: { $0.name == addition.option }) else {
                preconditionFailure("an addition is an option of its verb")
            }
            return (option, addition)
        }
        self.segments = segments
        self.verb = verb
        self.sources = sources
        self.options = options
        self.textKey = textKey
        self.answer = answer
        self.isForSockets = isForSockets
        keys =
            sources.compactMap(\.key) + options.map(\.name) + additions.compactMap(\.key)
            + (textKey.map { [$0] } ?? [])
        hasBody = [.post, .put, .patch].contains(method) && !keys.isEmpty
    }

    /// Whether the path is this resource's, whatever stands at its parameters.
    func matches(_ path: ArraySlice<String>) -> Bool {
        guard path.count == segments.count else { return false }
        for (part, segment) in zip(path, segments) {
            if case .word(let word) = segment, word != part { return false }
        }
        return true
    }
}

/// The resource of a request, with the values in its path.
struct Route {
    let resource: Resource
    /// The parts of the path behind `v1`.
    private let path: ArraySlice<String>

    /// Finds the resource of a request.
    ///
    /// - Parameter path: the parts of the path, `v1` first.
    /// - Throws: 404 for an unknown path, and 405 for a method that the path does not have.
    init(_ method: Method, _ path: [String]) throws(HTTPError) {
        let method = method == .head ? .get : method
        let rest = path.first == "v1" ? path.dropFirst() : []
        let found = Resource.all.first { $0.method == method && $0.matches(rest) }
        if let found {
            resource = found
            self.path = rest
            return
        }
        guard Route.methods(of: path).isEmpty else {
            throw .noSuchMethod
        }
        throw HTTPError(.notFound, "No such path; GET /v1/openapi.json lists all")
    }

    /// Returns the methods that a path has; none for an unknown path.
    static func methods(of path: [String]) -> [Method] {
        let rest = path.first == "v1" ? path.dropFirst() : []
        return Resource.all.filter { $0.matches(rest) }.map(\.method)
    }

    /// Returns the value of a parameter of the path; empty for one that the path does not have.
    func value(of parameter: String) -> String {
        for (part, segment) in zip(path, resource.segments)
        where segment == .parameter(parameter) {
            return part
        }
        return ""
    }
}

extension HTTPError {
    static let noSuchMethod = HTTPError(.methodNotAllowed, "This path does not have this method")
}
