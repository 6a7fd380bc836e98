import Admin
import Chat
import HTTP
import JSON
import LineProtocol
import Wire

/// The API description (OpenAPI 3.1), made from the tables of resources and account requests.
enum OpenAPI {
    /// The API description for a cluster with accounts of its own.
    static let withAccounts = document(hasAccounts: true)
    /// The API description for a cluster whose users sign in with an app's tokens.
    static let withoutAccounts = document(hasAccounts: false)

    private static func document(hasAccounts: Bool) -> [UInt8] {
        var writer = JSONWriter(reserving: 64 << 10)
        writer.object {
            $0.pair("openapi", "3.1.0")
            $0.object("info") {
                $0.pair("title", "Grapevine")
                $0.pair("version", "1")
                $0.pair("description", about)
            }
            $0.object("paths") { write(paths: &$0, hasAccounts) }
            $0.list("tags") { list in
                for group in HTTPEndpoint.Group.allCases {
                    list.object { $0.pair("name", group.rawValue) }
                }
                list.object { $0.pair("name", BlobRoute.tag) }
                if hasAccounts { list.object { $0.pair("name", AccountRoute.tag) } }
            }
            $0.object("components") { write(components: &$0) }
            $0.list("security") { $0.object { $0.list("bearer") { _ in } } }
        }
        return writer.bytes
    }

    private static let about = """
        A chat backend of equal nodes; each node answers every request. The same requests go over \
        a WebSocket at /v1/socket: a message {"id":…,"method":…,"path":…,"body":…} is answered by \
        {"id":…,"status":…,"body":…}, in any order; statuses 429 and 503 have a retryAfter beside \
        them, in seconds. Events arrive as {"event":…} after GET /v1/events. False flags and \
        missing values are left out of answers.
        """

    /// The kinds of objects in API responses, each described by a schema.
    private static let shapes: [ViewDescription] = ViewDescription.all.filter { $0.noun != "OK" }

    // MARK: Paths

    private static func write(paths writer: inout JSONWriter, _ hasAccounts: Bool) {
        var paths: [String] = []
        for resource in Resource.all where !paths.contains(resource.path) {
            paths.append(resource.path)
        }
        for path in paths {
            let resources = Resource.all.filter { $0.path == path }
            writer.object(path) { writer in
                if let first = resources.first { write(parametersOf: first, &writer) }
                for resource in resources {
                    writer.object(resource.method.rawValue.lowercased()) {
                        $0.list("tags") { $0.write(resource.group.rawValue) }
                        write(resource, &$0, hasAccounts)
                    }
                }
            }
        }
        describeConnections(&writer)
        BlobRoute.describe(&writer)
        if hasAccounts { AccountRoute.describe(&writer) }
    }

    private static func write(parametersOf resource: Resource, _ writer: inout JSONWriter) {
        writer.list("parameters") { list in
            for case .parameter(let name) in resource.segments {
                list.object {
                    $0.pair("name", name)
                    $0.pair("in", "path")
                    $0.pair("required", true)
                    $0.object("schema") { $0.pair("$ref", "#/components/schemas/Name") }
                }
            }
            list.object { $0.pair("$ref", "#/components/parameters/Token") }
            if resource.hasTimes {
                list.object { $0.pair("$ref", "#/components/parameters/Times") }
            }
            if resource.takesOperation {
                list.object { $0.pair("$ref", "#/components/parameters/Operation") }
            }
        }
    }

    private static func write(
        _ resource: Resource, _ writer: inout JSONWriter, _ hasAccounts: Bool
    ) {
        writer.pair("operationId", resource.operation)
        writer.pair("summary", resource.verb.about)
        switch resource.carriers {
        case .any: break
        case .socket: writer.pair("description", "Over a WebSocket alone; over HTTP it is 400.")
        case .socketOr(let option):
            writer.pair("description", "Over HTTP, 400 without `\(option.name)`.")
        }
        if resource.isAlias { writer.pair("deprecated", true) }
        let keys = parameters(of: resource, hasAccounts)
        if resource.hasBody {
            let isRequired = resource.mayLackText || keys.contains(where: \.isRequired)
            writer.object("requestBody") {
                $0.pair("required", isRequired)
                $0.object("content") {
                    $0.object("application/json") {
                        $0.object("schema") { write(schemaOf: keys, &$0) }
                    }
                }
            }
        } else if !keys.isEmpty {
            writer.list("parameters") { list in
                for key in keys {
                    list.object {
                        $0.pair("name", key.name)
                        $0.pair("in", "query")
                        $0.pair("required", key.isRequired)
                        $0.object("schema", key.schema)
                    }
                }
            }
        }
        writer.object("responses") { write(responsesOf: resource, &$0) }
    }

    private static func write(responsesOf resource: Resource, _ writer: inout JSONWriter) {
        let isStream = resource.verb.name == "WATCH"
        writer.object("200") {
            $0.pair("description", isStream ? "Events, as they happen" : "Done")
            $0.object("content") {
                $0.object(isStream ? "text/event-stream" : "application/json") {
                    $0.object("schema") { write(answer: resource, &$0) }
                }
            }
            guard !isStream else { return }
            $0.describeToken()
        }
        writer.describeErrors(isWrite: resource.method != .get)
    }

    private static func write(answer resource: Resource, _ writer: inout JSONWriter) {
        switch resource.answer {
        case _ where resource.verb.name == "WATCH": writer.pair("type", "string")
        case .one(let shape): writer.pair("$ref", "#/components/schemas/\(shape.title)")
        case .status(let keys): write(status: keys, &writer) { _ in }
        case .list(let name, let shape, let keys):
            write(status: keys, &writer, required: [name]) {
                $0.object(name) {
                    $0.pair("type", "array")
                    $0.object("items") { $0.pair("$ref", "#/components/schemas/\(shape.title)") }
                }
            }
        }
    }

    private static func write(
        status keys: [String], _ writer: inout JSONWriter, required: [String] = [],
        _ more: (inout JSONWriter) -> Void
    ) {
        writer.pair("type", "object")
        let keys = keys + (keys.contains("replicas") ? ["owners"] : [])
        writer.object("properties") {
            more(&$0)
            for key in keys {
                let type = ViewDescription.status.keys.first { $0.name == key }?.type ?? .number
                $0.object(key, schema(of: type))
            }
        }
        writer.list("required") { list in
            for name in required + keys where !sometimes.contains(name) { list.write(name) }
        }
        writer.pair("additionalProperties", false)
    }

    /// The keys of a JSON response that only some responses have.
    private static let sometimes: Set = ["at", "partial", "next"]

    // MARK: Components

    private static func write(components writer: inout JSONWriter) {
        writer.object("securitySchemes") {
            $0.object("bearer") {
                $0.pair("type", "http")
                $0.pair("scheme", "bearer")
                $0.pair("bearerFormat", "JWT")
            }
        }
        writer.object("parameters") {
            $0.object("Token") {
                $0.pair("name", "Grapevine-Token")
                $0.pair("in", "header")
                $0.pair(
                    "description",
                    "The tokens of earlier answers, separated by commas: nothing older is shown")
                $0.object("schema") {
                    let token = "[A-Za-z0-9_-]{1,\(LineLimits.tokenBytesMax)}"
                    $0.pair("type", "string")
                    $0.pair("pattern", "^\(token)(, *\(token)){0,\(AppLimits.tokensMax - 1)}$")
                }
            }
            $0.object("Times") {
                $0.pair("name", Option.times.name)
                $0.pair("in", "query")
                $0.pair("description", "Times with nine digits, and when each value last changed")
                $0.object("schema") {
                    $0.pair("type", "string")
                    $0.list("enum") { $0.write(Option.times.placeholder) }
                }
            }
            $0.object("Operation") {
                $0.pair("name", "Grapevine-Operation")
                $0.pair("in", "header")
                $0.pair(
                    "description",
                    "The identity and the time that the client gives to the request, the same at "
                        + "each repetition: <device>.<number>.<time>")
                $0.object("schema") {
                    $0.pair("type", "string")
                    $0.pair("pattern", RequestedOperation.pattern)
                }
            }
        }
        writer.object("headers") {
            $0.object("Token") {
                $0.pair("description", "Stands for all that the request has seen and done")
                $0.object("schema") { $0.pair("type", "string") }
            }
        }
        writer.object("responses") { $0.describeErrorResponses() }
        writer.object("schemas") { write(schemas: &$0) }
    }

    private static func write(schemas writer: inout JSONWriter) {
        writer.object("Name") {
            $0.pair("type", "string")
            $0.pair("pattern", Pattern.name(bytesMax: nameBytesMax))
        }
        writer.object("Error") {
            $0.pair("type", "object")
            $0.object("properties") {
                $0.object("error") {
                    $0.pair("type", "object")
                    $0.object("properties") {
                        $0.object("code") { $0.pair("type", "integer") }
                        $0.object("reason") { $0.pair("type", "string") }
                        $0.object("message") { $0.pair("type", "string") }
                        $0.object("now") {
                            $0.pair("type", "string")
                            $0.pair("format", "date-time")
                        }
                    }
                    $0.list("required") {
                        $0.write("code")
                        $0.write("reason")
                        $0.write("message")
                    }
                }
            }
            $0.list("required") { $0.write("error") }
        }
        for shape in shapes {
            writer.object(shape.title) {
                $0.pair("type", "object")
                $0.object("properties") {
                    for key in shape.keys { $0.object(key.name, schema(of: key.type)) }
                }
                $0.list("required") { list in
                    for key in shape.keys where key.isRequired { list.write(key.name) }
                }
                $0.pair("additionalProperties", false)
            }
        }
    }
}

// MARK: Schemas

extension OpenAPI {
    typealias Schema = (inout JSONWriter) -> Void

    /// The regular expressions of the strings that the API accepts.
    enum Pattern {
        /// Returns the regular expression of a name that may be a segment of a path.
        static func name(bytesMax: Int) -> String {
            #"^(?!\.{1,2}$)[A-Za-z0-9_.:@-]{1,\#(bytesMax)}$"#
        }

        /// The regular expression of a comma-separated list of names.
        static let names = "^[A-Za-z0-9_.:@-]{1,64}(,[A-Za-z0-9_.:@-]{1,64}){0,99}$"
        /// The regular expression of a string that is not only white space and has no U+0000.
        ///
        /// U+0085 is listed, because `\s` of ECMA-262 does not include it.
        static let body = #"^[^\u0000]*[^\u0000\s\u0085][^\u0000]*$"#
        static let clearable = #"^[^\u0000]*$"#
        /// The regular expression of a string of more than white space, without control characters.
        static let query =
            #"^[^\u0000-\u001F\u007F]*[^\u0000-\u001F\u007F\s\u0085][^\u0000-\u001F\u007F]*$"#
    }

    /// A key of a request's JSON body, or a parameter of its URL query.
    private struct Parameter {
        let name: String
        let isRequired: Bool
        let schema: Schema
    }

    private static func schema(of type: ViewDescription.ValueType) -> Schema {
        switch type {
        case .text: { $0.pair("type", "string") }
        case .name: { $0.pair("$ref", "#/components/schemas/Name") }
        case .time: { time(&$0) }
        case .number: { $0.pair("type", "integer") }
        case .flag: { $0.pair("type", "boolean") }
        case .list: { names(&$0) }
        case .copies: { $0.pair("type", "integer") }
        }
    }

    private static func time(_ writer: inout JSONWriter) {
        writer.pair("type", "string")
        writer.pair("format", "date-time")
    }

    private static func names(_ writer: inout JSONWriter) {
        writer.pair("type", "array")
        writer.object("items") { $0.pair("$ref", "#/components/schemas/Name") }
    }

    private static func parameters(of resource: Resource, _ hasAccounts: Bool) -> [Parameter] {
        let ofSources: [Parameter] = resource.sources.enumerated().compactMap { index, source in
            switch source {
            case .user, .path: return nil
            case .key(let key):
                return Parameter(
                    name: key, isRequired: index < resource.verb.required.count,
                    schema: schema(of: .name))
            case .newID(let key):
                return Parameter(name: key, isRequired: false, schema: schema(of: .name))
            case .userAnd(let key):
                return Parameter(name: key, isRequired: false, schema: schema(of: .list))
            case .names(let key):
                return Parameter(name: key, isRequired: true) {
                    $0.pair("type", "string")
                    $0.pair("pattern", Pattern.names)
                }
            case .toggle(let key):
                return Parameter(name: key, isRequired: true, schema: schema(of: .flag))
            }
        }
        // The account actor replaces an e-mail address by a user ID.
        let email = Parameter(name: "email", isRequired: false) {
            $0.pair("type", "string")
            $0.pair("format", "email")
        }
        let emails = Parameter(name: "emails", isRequired: false) {
            $0.pair("type", "array")
            $0.pair("minItems", 1)
            $0.pair("maxItems", AppLimits.emailsMax)
            $0.object("items") {
                $0.pair("type", "string")
                $0.pair("format", "email")
            }
        }
        let finds = hasAccounts && resource.verb.name == "CREATE" ? [email, emails] : []
        let options =
            finds
            + resource.options.map {
                Parameter(
                    name: $0.name, isRequired: $0.isRequired,
                    schema: schema(of: $0, isQuery: !resource.hasBody))
            }
            + resource.additions.compactMap(\.key).map {
                Parameter(name: $0, isRequired: false, schema: schema(of: .flag))
            }
        guard let key = resource.textKey else { return ofSources + options }
        let text = Parameter(name: key, isRequired: !resource.mayLackText) {
            $0.pair("type", "string")
            $0.pair("pattern", Pattern.body)
        }
        return ofSources + options + [text]
    }

    /// Returns the schema of a command's option, derived from its placeholder in the usage text.
    ///
    /// - Parameter isQuery: whether the option is a parameter of a URL query.
    private static func schema(of option: Option, isQuery: Bool) -> Schema {
        let placeholder = option.placeholder
        if option.isChoice {
            let words = placeholder.split(separator: "|").map(String.init)
            return {
                $0.list("enum") { list in
                    for word in words { list.write(word) }
                    if option.isClearable { list.writeNull() }
                }
            }
        }
        if let range = option.range {
            return {
                $0.pair("type", "integer")
                $0.pair("minimum", range.lowerBound)
                $0.pair("maximum", range.upperBound)
                if let number = option.standard { $0.pair("default", number) }
            }
        }
        if option.isCursor {
            return {
                $0.pair("type", "string")
                $0.pair("pattern", Option.cursorPattern)
            }
        }
        let isTime = placeholder == "<time>"
        guard option.isFreeText || isTime else { return schema(of: .name) }
        return {
            $0.list("type") { list in
                list.write("string")
                if option.isClearable { list.write("null") }
            }
            if isTime { return $0.pair("format", "date-time") }
            if option.isClearable { return $0.pair("pattern", Pattern.clearable) }
            $0.pair("pattern", isQuery ? Pattern.query : Pattern.body)
        }
    }

    private static func write(schemaOf keys: [Parameter], _ writer: inout JSONWriter) {
        writer.pair("type", "object")
        writer.object("properties") {
            for key in keys { $0.object(key.name, key.schema) }
        }
        writer.list("required") { list in
            for key in keys where key.isRequired { list.write(key.name) }
        }
        if keys.contains(where: { $0.name == "preview" }) {
            writer.object("dependentRequired") { $0.list("preview") { $0.write("blob") } }
            // A message with a picture or a recording may have no text.
            writer.object("if") {
                $0.object("properties") {
                    $0.object("type") {
                        $0.list("enum") { for type in ["image", "voice"] { $0.write(type) } }
                    }
                }
                $0.list("required") { $0.write("type") }
            }
            writer.object("else") { $0.list("required") { $0.write("text") } }
        }
        writer.pair("additionalProperties", false)
    }
}

extension Resource {
    /// Whether some requests of this kind may omit the text of the message.
    var mayLackText: Bool { verb.name == "SEND" }
}

extension Option {
    /// Whether the option's value is one of the words in a placeholder such as `a|b`.
    var isChoice: Bool { placeholder.contains("|") }

    /// Whether every text is a valid value of the option, because its placeholder in the help names
    /// no type.
    var isFreeText: Bool { !isChoice && (placeholder.first != "<" || placeholder == "<token>") }
}

extension ViewDescription {
    /// The name of the API description's schema for objects of this kind, such as `Message`.
    var title: String { noun.prefix(1) + noun.dropFirst().lowercased() }
}

extension JSONWriter {
    /// Writes to the API description that a response has the header field `Grapevine-Token`.
    mutating func describeToken() {
        object("headers") {
            $0.object("Grapevine-Token") { $0.pair("$ref", "#/components/headers/Token") }
        }
    }
}
