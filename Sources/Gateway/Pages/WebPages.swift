import Compression
import HTTP
import JSON
import Node
import Wire

/// The web pages that a port serves to everybody, because they contain no data of users.
///
/// Paths are looked up in a fixed table, so no text of a request enters a file name or a page.
package actor WebPages {
    /// The sets of web pages, of which each port serves one.
    package enum Site: Sendable {
        /// The web pages of the chat, on the port that serves apps and browsers (`--http`).
        case chat
        /// The page that shows operators the state of the cluster, on the port for operations.
        case cluster
    }

    /// The minimum size of a file, such as a page or a script, that is sent compressed, in bytes.
    private static let compressedBytesMin = 256

    private nonisolated let executor: any SerialExecutor
    private let site: Site
    private let mayPlay: Bool
    /// The origins of the nodes that this node's command-line options name.
    private let named: [WebOrigin]
    private weak var node: Node?
    /// The origins of the web pages of all nodes, also of nodes that have left, because a page
    /// loaded from such a node may still be open and use other nodes.
    private var origins: Set<String> = []
    /// The host names under which the port may be reached; nil for any name.
    private nonisolated let names: ServedNames?
    private var files: [[String]: WebFile]
    /// The Content Security Policy of all pages.
    private var policy = ""
    /// The node's count of changes of members' addresses when the addresses were last copied.
    private var followedVersion = 0
    /// The compressed forms of files, each created when a client first requests it.
    private var compressed: [[String]: [UInt8]] = [:]

    /// - Parameters:
    ///   - names: the host names under which the port may be reached; nil for any name.
    ///   - nodes: the addresses at which browsers reach this node and others, as `/nodes.json`
    ///     lists them; empty if a page uses only the node that served it.
    ///   - mayPlay: whether a page may send requests to any port of this machine, where the script
    ///     `cluster/play` accepts commands to kill and start nodes.
    package init(
        _ site: Site, nodes: [WebOrigin], mayPlay: Bool = false, names: ServedNames? = nil,
        executor: any SerialExecutor
    ) {
        self.names = names
        self.executor = executor
        self.site = site
        self.mayPlay = mayPlay
        named = nodes
        files = WebPages.files(of: site)
        (files[WebPages.listPath], policy) = WebPages.contents(nodes, mayPlay: mayPlay)
        origins = Set(nodes.map(\.description))
    }

    /// Sets the node that supplies the members whose addresses `nodes.json` lists.
    package func follow(_ node: Node) { self.node = node }

    /// Whether a web origin belongs to a node, so that pages from it may send requests.
    package func admits(_ origin: String) -> Bool {
        followMembers()
        return origins.contains(origin)
    }

    private func followMembers() {
        guard let node else { return }
        let version = node.assumeIsolated { $0.memberPagesVersion }
        guard version != followedVersion else { return }
        followedVersion = version
        let (listed, all) = node.assumeIsolated { ($0.memberPages, $0.knownPages) }
        follow(listed, admitting: all)
    }

    /// Updates `nodes.json`, the security policy and the allowed origins from members' addresses.
    ///
    /// Nodes that the command-line options name come first, then other members, up to
    /// `WebOrigin.countMax` in all. A web page that is already open keeps the policy that it was
    /// loaded with, and so the nodes that it may use.
    ///
    /// - Parameter all: the members whose web pages may still be open in browsers.
    func follow(_ members: [PageAddresses], admitting all: [PageAddresses]) {
        guard !named.isEmpty else { return }
        var nodes = named
        for origin in members.compactMap(origin) where nodes.count < WebOrigin.countMax {
            if !nodes.contains(origin) { nodes.append(origin) }
        }
        (files[WebPages.listPath], policy) = WebPages.contents(nodes, mayPlay: mayPlay)
        compressed[WebPages.listPath] = nil
        origins = Set((nodes + all.compactMap(origin)).map(\.description))
    }

    private func origin(of member: PageAddresses) -> WebOrigin? {
        WebOrigin(site == .chat ? member.chat : member.cluster)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Returns the error (421) for a request whose `Host` is none of the host names that this port
    /// serves; nil for other requests, and for a request without `Host`, which no browser sends.
    nonisolated func refusal(of head: RequestHead) -> HTTPError? {
        guard let names, let host = head.fields.values(of: "host").first, !names.contains(host)
        else { return nil }
        return HTTPError(
            .misdirectedRequest, "This node is not reached as \(host); --host-names names it")
    }

    func has(_ path: [String]) -> Bool { files[path] != nil }

    /// Returns the web page for a request, whatever its HTTP method; nil for a path without a page.
    func answer(to head: RequestHead) -> WebPage? {
        followMembers()
        let path = head.target.segments
        guard let file = files[path] else { return nil }
        let policy = isPart(file, at: path) ? nil : policy
        let tag = file.tag(under: policy)
        var page = WebPage(file, tag, policy: policy)
        if tag.isHeld(by: head.fields.values(of: "if-none-match")) {
            page.status = .notModified
            page.body = []
        } else if head.fields.acceptsGzip, let body = compressedForm(of: file, at: path) {
            page.body = body
            page.isCompressed = true
        }
        return page
    }

    /// Whether a file is a module or a style sheet, to which the `Content-Security-Policy` of the
    /// page that loads the file applies.
    ///
    /// Such files lie in folders. A page loads dozens of them, and their responses are shorter
    /// without a policy. The script of a worker lies in no folder and needs a policy of its own.
    private func isPart(_ file: WebFile, at path: [String]) -> Bool {
        path.count > 1
            && ["text/css", "text/javascript"].contains(where: file.contentType.hasPrefix)
    }

    private func compressedForm(of file: WebFile, at path: [String]) -> [UInt8]? {
        if let form = compressed[path] { return form }
        guard file.bytes.count >= WebPages.compressedBytesMin else { return nil }
        // The `ETag` is weak, because the compressed file means the same to a browser as the file.
        let form = GZip.compress([file.bytes], effort: .most)
        compressed[path] = form
        return form
    }
}

// MARK: Contents

extension WebPages {
    /// The files that are served at another URL path instead of their file path, because the
    /// relative links in a page depend on the page's URL.
    private static let places = [
        "chat/index.html": "",
        "chat/gallery/gallery.html": "gallery",
        "chat/service-worker.js": "service-worker.js",
        "chat/manifest.webmanifest": "manifest.webmanifest",
        "chat/icon.svg": "icon.svg",
        "cluster/index.html": "cluster",
    ]

    private static let listPath = ["nodes.json"]

    private static func files(of site: Site) -> [[String]: WebFile] {
        let folders =
            switch site {
            case .chat: ["chat/", "client/"]
            case .cluster: ["cluster/"]
            }
        var files: [[String]: WebFile] = [:]
        for (path, file) in WebFile.embedded where folders.contains(where: path.hasPrefix) {
            let place = places[path] ?? path
            files[place.split(separator: "/").map(String.init)] = file
        }
        return files
    }

    /// Returns `nodes.json`, and the security policy that lets pages send requests to its nodes.
    private static func contents(
        _ nodes: [WebOrigin], mayPlay: Bool
    ) -> (list: WebFile, policy: String) {
        (WebFile(list(of: nodes), named: "nodes.json"), policy(nodes, mayPlay: mayPlay))
    }

    private static func list(of nodes: [WebOrigin]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.list("nodes") { list in for node in nodes { list.write(node.description) } }
        }
        return writer.bytes
    }

    private static func policy(_ nodes: [WebOrigin], mayPlay: Bool) -> String {
        // In old browsers 'self' does not include WebSockets, so the node's own are named, too.
        let others = nodes.flatMap { [$0.description, $0.ofSockets] }
        let local = mayPlay ? ["http://127.0.0.1:*"] : []
        let connections = (["'self'"] + others + local).joined(separator: " ")
        return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
            + "media-src 'self' blob:; connect-src \(connections); manifest-src 'self'; "
            + "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
}
