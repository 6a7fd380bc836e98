import JSON

extension OpenAPI {
    /// Writes the OpenAPI paths of the WebSocket and of the public key of Web Push.
    static func describeConnections(_ writer: inout JSONWriter) {
        writer.object("/v1/socket") {
            $0.object("get") {
                $0.list("tags") { $0.write("events") }
                $0.pair("operationId", "openSocket")
                $0.pair("summary", "Opens a WebSocket, which carries requests and events.")
                $0.pair(
                    "description",
                    """
                    The upgrade offers the protocol bearer.<access token>, and may offer \
                    grapevine.v1 before it, which the answer then chooses. A request without an \
                    upgrade is 426.
                    """)
                $0.object("responses") {
                    $0.object("101") { $0.pair("description", "The WebSocket is open") }
                    $0.describeErrors(isWrite: false)
                }
            }
        }
        writer.object("/v1/push") {
            $0.object("get") {
                $0.list("tags") { $0.write("devices") }
                $0.pair("operationId", "getPushKey")
                $0.pair("summary", "Shows the key with which browsers subscribe to pushes.")
                $0.object("responses") {
                    $0.object("200") {
                        $0.pair("description", "The public key (VAPID), in base64url")
                        $0.object("content") {
                            $0.object("application/json") {
                                $0.object("schema") { write(texts: ["key"], &$0) }
                            }
                        }
                    }
                    $0.describeErrors(isWrite: false)
                }
            }
        }
    }

    private static func write(texts: [String], _ writer: inout JSONWriter) {
        writer.pair("type", "object")
        writer.object("properties") { properties in
            for text in texts { properties.object(text) { $0.pair("type", "string") } }
        }
        writer.list("required") { list in for text in texts { list.write(text) } }
        writer.pair("additionalProperties", false)
    }
}
