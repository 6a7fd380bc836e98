import JSON

/// The part of the API description (OpenAPI 3.1) about requests for accounts.
extension AccountRoute {
    static let tag = "accounts"

    /// Writes the OpenAPI paths of the requests about accounts.
    static func describe(_ writer: inout JSONWriter) {
        var paths: [String] = []
        for route in allCases where !paths.contains(route.path) { paths.append(route.path) }
        for path in paths {
            writer.object(path) { writer in
                for route in allCases where route.path == path {
                    writer.object(route.method.lowercased()) { route.describe(&$0) }
                }
            }
        }
    }

    private func describe(_ writer: inout JSONWriter) {
        writer.list("tags") { $0.write(AccountRoute.tag) }
        writer.pair("operationId", operation)
        writer.pair(
            "summary", about + (needsSignIn ? "" : " Nobody has to be signed in."))
        if !needsSignIn { writer.list("security") { _ in } }
        writer.list("parameters") { list in
            list.object { $0.pair("$ref", "#/components/parameters/Token") }
        }
        if !keys.isEmpty {
            writer.object("requestBody") {
                $0.pair("required", true)
                $0.object("content") {
                    $0.object("application/json") { $0.object("schema") { describeBody(&$0) } }
                }
            }
        }
        writer.object("responses") {
            $0.object("200") {
                $0.pair("description", "Done")
                $0.object("content") {
                    $0.object("application/json") { $0.object("schema") { describeAnswer(&$0) } }
                }
                $0.describeToken()
            }
            $0.describeErrors(isWrite: true)
        }
    }

    private var operation: String {
        switch self {
        case .signUp, .signIn, .signOut, .signOutEverywhere: "\(self)"
        case .renew: "renewSignIn"
        case .show: "getAccount"
        case .setPassword: "changePassword"
        case .setEmail: "changeEmail"
        case .delete: "deleteAccount"
        }
    }

    private func describeBody(_ writer: inout JSONWriter) {
        writer.pair("type", "object")
        writer.object("properties") {
            for key in keys {
                $0.object(key.name) {
                    $0.pair("type", "string")
                    if key.name == "email" { $0.pair("format", "email") }
                    guard key.name.lowercased().hasSuffix("password") else { return }
                    $0.pair("minLength", Accounts.passwordBytes.lowerBound)
                    $0.pair("maxLength", Accounts.passwordBytes.upperBound)
                }
            }
        }
        writer.list("required") { list in
            for key in keys where key.isRequired { list.write(key.name) }
        }
        writer.pair("additionalProperties", false)
    }

    private func describeAnswer(_ writer: inout JSONWriter) {
        let texts =
            answersTokens
            ? ["user", "accessToken", "refreshToken"] : self == .show ? ["user", "email"] : []
        writer.pair("type", "object")
        writer.object("properties") {
            for text in texts { $0.object(text) { $0.pair("type", "string") } }
            if answersTokens { $0.object("expiresIn") { $0.pair("type", "integer") } }
            guard self == .show else { return }
            $0.object("createdAt") {
                $0.pair("type", "string")
                $0.pair("format", "date-time")
            }
        }
        writer.list("required") { list in
            for text in texts { list.write(text) }
            if answersTokens { list.write("expiresIn") }
            if self == .show { list.write("createdAt") }
        }
        writer.pair("additionalProperties", false)
    }
}
