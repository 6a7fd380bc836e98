import Admin
import HTTP
import JSON
import LineProtocol
import Wire

/// A kind of API request: an HTTP method, a URL path, and the command (`verb`) of the line protocol
/// that executes the request.
///
/// The command's options and text are keys of the JSON body, or of the URL query if the method has
/// no body.
///
/// `Resource` is an immutable class and not a struct, so that a request copies only a reference.
final class Resource: Sendable {
    /// A segment of the URL path: a fixed word, or a parameter with its name.
    enum Segment: Sendable, Equatable {
        case word(String)
        case parameter(String)
    }

    let method: Method
    let segments: [Segment]
    let verb: Verb
    let traits: Verb.Traits
    /// The source of the value of each argument of `verb`, such as a path parameter or a JSON key.
    let sources: [HTTPEndpoint.Source]
    let answer: HTTPEndpoint.Answer
    /// The options of `verb` that a client may set in the request.
    let options: [Option]
    let carriers: HTTPEndpoint.Carriers
    /// Whether the URL query may ask for exact times (`times=exact`), also beside a JSON body.
    let hasTimes: Bool
    /// Whether the client may give the request its identity and time.
    let takesOperation: Bool
    /// The options of `verb`, with their values, that the node adds to the request; a flag in the
    /// request can leave out some of them.
    let additions: [HTTPEndpoint.Addition]
    let group: HTTPEndpoint.Group
    /// The URL path as the OpenAPI description shows it, such as `/v1/chats/{conversation}`.
    let path: String
    /// The `operationId` in the OpenAPI description, such as `sendMessage`.
    let operation: String
    /// The keys that the JSON body or the URL query may have, apart from `email` and `emails`.
    let keys: [String]
    /// The key whose value is the text of `verb`; nil for a command without a text.
    let textKey: String?
    /// Whether the parameters are in the JSON body, and not in the URL query.
    let hasBody: Bool

    init(_ endpoint: HTTPEndpoint, of verb: Verb) {
        let segments = endpoint.path.split(separator: "/").map { part in
            part.first == "{"
                ? Segment.parameter(String(part.dropFirst().dropLast())) : .word(String(part))
        }
        let labels = (verb.required + verb.optional).enumerated()
        let sources: [HTTPEndpoint.Source] = labels.map { index, label in
            let name = String(label.dropFirst().prefix { $0 != ">" })
            if let source = endpoint.sources[index] { return source }
            if segments.contains(.parameter(name)) { return .path(name) }
            return name == "user" || name == "by" ? .user : .key(name)
        }
        let method = Method(rawValue: endpoint.method.rawValue)
        let textKey = verb.text.map { String($0.dropFirst().dropLast()) }
        let options =
            endpoint.hasOptions ? verb.options.filter { !$0.isOfNodes && !$0.isCommon } : []
        self.method = method
        path = "/v1/" + endpoint.path
        operation = endpoint.operation
        group = endpoint.group
        traits = Verb.traits(of: verb.name)
        additions = endpoint.additions
        self.segments = segments
        self.verb = verb
        self.sources = sources
        self.options = options
        self.textKey = textKey
        answer = endpoint.answer
        carriers = endpoint.carriers
        hasTimes = verb.options.contains { $0.name == Option.times.name }
        takesOperation =
            method != .get && verb.options.contains { $0.name == Option.operation.name }
        keys =
            sources.compactMap(\.key) + options.map(\.name) + additions.compactMap(\.key)
            + (textKey.map { [$0] } ?? [])
        hasBody = [.post, .put, .patch].contains(method) && !keys.isEmpty
    }

    /// All kinds of API requests, sorted by group, path and method.
    static let all: [Resource] = {
        let all = Verb.all.flatMap { verb in verb.endpoints.map { (verb: verb, endpoint: $0) } }
        return all.sorted { $0.endpoint < $1.endpoint }.map { Resource($0.endpoint, of: $0.verb) }
    }()

    /// The resource of the request that a WebSocket makes to give its session the token of the
    /// handshake.
    ///
    /// No path leads to the resource; it formats the session's response.
    static let taken = Resource(
        HTTPEndpoint(.put, "token", "setToken", in: .events, .status([])), of: Verb.named("SINCE"))

    /// Whether the path is an alias of a newer path for the same request.
    var isAlias: Bool { group == .chats }

    /// Whether a URL path matches this resource, whatever the values of its parameters are.
    func matches(_ path: ArraySlice<String>) -> Bool {
        guard path.count == segments.count else { return false }
        for (part, segment) in zip(path, segments) {
            if case .word(let word) = segment, word != part { return false }
        }
        return true
    }
}

/// The kind of an API request, with the values in its path.
struct Route {
    let resource: Resource
    /// The segments of the request's URL path after `v1`.
    private let path: ArraySlice<String>

    /// Finds the kind of an API request by its method and path.
    ///
    /// - Parameter path: the segments of the URL path, of which the first is `v1`.
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

    /// Returns the HTTP methods of an API path; none for an unknown path.
    static func methods(of path: [String]) -> [Method] {
        let rest = path.first == "v1" ? path.dropFirst() : []
        return Resource.all.filter { $0.matches(rest) }.map(\.method)
    }

    /// Returns the value of a parameter of the path; an empty string for an unknown parameter.
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
