import Admin
import HTTP
import LineProtocol

/// The reports about a node that the port for operations shows.
package protocol NodeReports: Sendable {
    /// Returns the node's metrics in the Prometheus text format.
    func metricsText() -> [UInt8]
    /// Returns the state of this node, of the cluster's members and of all shards, as JSON.
    func clusterJSON() -> [UInt8]
    /// Returns the reason why the node is not ready for requests; nil if it is ready.
    func unreadiness() -> LineError?
}

extension Admin: NodeReports {}

/// The response of the port for operations to one request, before it is encoded.
struct OpsPage: Equatable {
    let status: HTTPStatus
    let contentType: String
    let body: [UInt8]
    /// The value of the header field `Allow` of a 405: the methods of the request's path.
    var allowed: String?
    /// The web page that the response contains; nil for a report about the node.
    private(set) var page: WebPage?

    /// Creates the response to a request; a client needs no access token, because no response
    /// contains users' data.
    init(for request: RequestHead, of reports: any NodeReports, and pages: WebPages) {
        guard !request.hasBody else {
            self.init(HTTPError(.badRequest, "A request to this port has no body"))
            return
        }
        let write: () -> OpsPage
        switch request.target.segments {
        case ["metrics"]:
            write = {
                OpsPage(
                    status: .ok, contentType: "text/plain; version=0.0.4; charset=utf-8",
                    body: reports.metricsText())
            }
        case ["cluster.json"]:
            write = {
                OpsPage(
                    status: .ok, contentType: "application/json", body: reports.clusterJSON())
            }
        case ["healthz"]: write = { OpsPage(.ok, text: "ok") }
        case ["readyz"]:
            write = {
                let reason = reports.unreadiness()
                return OpsPage(
                    reason == nil ? .ok : .unavailable, text: reason?.sentence ?? "ready")
            }
        default:
            guard let page = pages.assumeIsolated({ $0.answer(to: request) }) else {
                self.init(
                    HTTPError(
                        .notFound,
                        "This port has /cluster, /cluster.json, /metrics, /healthz and /readyz"))
                return
            }
            write = { OpsPage(page) }
        }
        guard request.method == .get || request.method == .head else {
            self.init(HTTPError(.methodNotAllowed, "This path can only be read"))
            allowed = "GET, HEAD"
            return
        }
        self = write()
    }

    private init(_ page: WebPage) {
        self.init(status: page.status, contentType: page.contentType, body: page.body)
        self.page = page
    }

    init(_ error: HTTPError) {
        status = error.status
        contentType = "application/json"
        // The program's own error messages need no JSON escapes.
        let object = "{\"code\":\(error.status.rawValue),\"message\":\"\(error.message)\"}"
        body = Array("{\"error\":\(object)}\n".utf8)
    }

    private init(_ status: HTTPStatus, text: String) {
        self.init(
            status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
    }

    private init(status: HTTPStatus, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}
