import JSON

/// The OpenAPI description of one error response.
private struct DescribedError {
    let code: Int
    /// The name of the error response in `components/responses` of the OpenAPI description.
    let name: String
    let about: String
    /// Whether only requests that write can have this error.
    var isOfWrites = false
    /// Whether the error response has the header field `Retry-After`.
    var hasRetryAfter = false

    static let all = [
        DescribedError(code: 400, name: "BadRequest", about: "The request is not understood"),
        DescribedError(
            code: 401, name: "NotSignedIn",
            about: "The access token is missing, not valid, or has ended"),
        DescribedError(
            code: 403, name: "Forbidden", about: "This user may not do this"),
        DescribedError(
            code: 404, name: "NotFound", about: "There is no such thing for this user"),
        DescribedError(
            code: 408, name: "Untimely",
            about: "The operation's time is ahead, or older than 10 minutes", isOfWrites: true),
        DescribedError(
            code: 409, name: "Conflict",
            about: "It exists with other content, or a limit that no waiting changes is reached",
            isOfWrites: true),
        DescribedError(
            code: 413, name: "TooLarge", about: "The request or the answer is too large"),
        DescribedError(
            code: 429, name: "TooManyRequests", about: "Too many requests, or too much at once",
            hasRetryAfter: true),
        DescribedError(
            code: 503, name: "Unavailable", about: "Not now; any node may be asked again",
            hasRetryAfter: true),
    ]
}

extension JSONWriter {
    /// Writes the error responses of one operation of the OpenAPI description.
    mutating func describeErrors(isWrite: Bool) {
        for error in DescribedError.all where isWrite || !error.isOfWrites {
            object("\(error.code)") { $0.pair("$ref", "#/components/responses/\(error.name)") }
        }
        object("default") { $0.pair("$ref", "#/components/responses/Error") }
    }

    /// Writes the OpenAPI error responses that all operations share, under `components`.
    mutating func describeErrorResponses() {
        describe("The reason why the request was not answered", as: "Error", false)
        for error in DescribedError.all {
            describe(error.about, as: error.name, error.hasRetryAfter)
        }
    }

    private mutating func describe(_ about: String, as name: String, _ hasRetryAfter: Bool) {
        object(name) {
            $0.pair("description", about)
            if hasRetryAfter {
                $0.object("headers") {
                    $0.object("Retry-After") {
                        $0.pair("description", "The seconds after which it may be repeated")
                        $0.object("schema") { $0.pair("type", "integer") }
                    }
                }
            }
            $0.object("content") {
                $0.object("application/json") {
                    $0.object("schema") { $0.pair("$ref", "#/components/schemas/Error") }
                }
            }
        }
    }
}
