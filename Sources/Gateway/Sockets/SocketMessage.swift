import HTTP
import JSON
import LineProtocol

/// A request on a WebSocket: a JSON object with the keys `id`, `method`, `path`, `operation` and
/// `body`.
struct SocketMessage {
    private(set) var id: JSONValue?
    private var method: JSONValue?
    private var path: JSONValue?
    private var body: JSONValue?
    private var givenOperation: JSONValue?
    private var hasOther = false

    /// - Throws: 400 for a message that is no JSON object.
    init(_ text: [UInt8]) throws(LineError) {
        let message: JSONValue
        do throws(JSONError) {
            message = try JSONValue(reading: text)
        } catch {
            throw LineError(400, error.message)
        }
        guard case .object(let members) = message else {
            throw LineError(400, "A request is an object of JSON with id, method, path and body")
        }
        for member in members {
            switch member.name {
            case "id": id = member.value
            case "method": method = member.value
            case "path": path = member.value
            case "body": body = member.value
            case "operation": givenOperation = member.value
            default: hasOther = true
            }
        }
    }

    /// The identity and the time that the client has given to the request; nil if it has none.
    var operation: String? {
        get throws(LineError) {
            guard let givenOperation else { return nil }
            guard case .text(let text) = givenOperation, !text.isEmpty else {
                throw .operationBad
            }
            return text
        }
    }

    /// Returns the kind of the API request in this message, with the members of the request's body
    /// or the parameters of its URL query.
    func route() throws(LineError) -> (Route, [JSONValue.Member]) {
        guard !hasOther else {
            throw LineError(400, "The keys of a request are id, method, path, operation and body")
        }
        var name = Method.get
        if case .text(let text)? = method { name = Method(rawValue: text) }
        guard case .text(let path)? = path else { throw LineError(400, "Missing path") }
        let target: RequestTarget
        let route: Route
        do throws(HTTPError) {
            target = try RequestTarget(path)
            route = try Route(name, target.segments)
        } catch {
            throw LineError(error.status.rawValue, error.message)
        }
        let query = try AppRequest.members(of: target.query)
        switch body {
        case .object(let members)?
        where route.resource.hasBody && query.allSatisfy({ $0.name == Option.times.name }):
            return (route, members + query)
        case nil, .null?: return (route, query)
        default: throw LineError(400, "A body is an object of JSON, for requests that have one")
        }
    }
}
