import HTTP
import LineProtocol
import Testing

@testable import Gateway

@Suite struct ResourceTests {
    /// `SEED` writes as two users at once; an upload is one request, and a file is sent as it is.
    private static let withoutEndpoint: Set = [
        "SEED", "FILE ADD", "FILE PUT", "FILE END", "FILE SHOW", "FILE GET",
    ]

    @Test func `each verb of users has an endpoint, or a reason for none`() {
        let named = Set(Resource.all.map(\.verb.name))
        let ofOperators: Set = [
            "HELP", "AUTH", "PING", "STATUS", "READY", "METRICS", "MEMBERS", "SHARDS", "OWNERS",
            "DIGEST", "VECTOR", "SET", "WAIT", "SINCE", "BLOCK", "UNBLOCK", "JOIN", "LEAVE",
            "FORGET", "BACKUP", "SCRUB", "SHUTDOWN", "ACCOUNTS", "ACCOUNT ADD", "ACCOUNT PASSWORD",
            "ACCOUNT DISABLE", "ACCOUNT ENABLE", "ACCOUNT REMOVE", "SIGNIN ADD", "SIGNIN RENEW",
            "SIGNIN END", "KEYS", "KEY ADD", "REVOKE", "FILES", "SUBSCRIBERS", "FILE CLOSE",
            "FILE PURGE", "DEVICE HOLDERS",
        ]
        let all = Set(Verb.all.map(\.name))
        #expect(
            all.subtracting(named).subtracting(ofOperators) == Self.withoutEndpoint)
        #expect(named.isDisjoint(with: ofOperators))
    }

    @Test func `what the server adds is an option of the verb`() {
        for resource in Resource.all {
            for addition in resource.additions {
                #expect(resource.verb.options.contains { $0.name == addition.option.name })
            }
        }
    }

    @Test func `no two resources answer the same request`() {
        let requests = Resource.all.map { "\($0.method.rawValue) \($0.path)" }
        #expect(Set(requests).count == requests.count)
    }

    @Test func `each parameter of a path is an argument, and each user is the one signed in`() {
        for resource in Resource.all {
            for case .parameter(let name) in resource.segments {
                #expect(resource.sources.contains(.path(name)), "\(resource.path)")
            }
            let invites = resource.verb.name == "INVITE"
            for (label, source) in zip(resource.verb.required, resource.sources)
            where label == "<user>" || label == "<by>" {
                let isPath = invites && label == "<user>"
                #expect(source == (isPath ? .path("user") : .user), "\(resource.path)")
            }
        }
    }

    @Test func `a request without a body takes its keys in the query`() {
        for resource in Resource.all where [.get, .delete].contains(resource.method) {
            #expect(!resource.hasBody && resource.textKey == nil, "\(resource.path)")
        }
    }

    @Test func `paths and methods are found, and others are told apart`() throws {
        let route = try Route(.get, ["v1", "conversations", "c1", "messages", "m1", "edits"])
        #expect(route.resource.verb.name == "EDITS")
        #expect(route.value(of: "conversation") == "c1" && route.value(of: "message") == "m1")
        #expect(route.value(of: "user").isEmpty)
        #expect(try Route(.head, ["v1", "chats"]).resource.verb.name == "CHATS")
        #expect(throws: HTTPError.self) { try Route(.get, ["v1", "users"]) }
        #expect(throws: HTTPError.self) { try Route(.get, ["chats"]) }
        #expect(throws: HTTPError.self) { try Route(.get, []) }
        #expect(Route.methods(of: ["v1", "items", "i1"]) == [.get, .patch, .delete])
    }
}
