import Glibc

/// The lookups of hosts' addresses by name, confined to their loop's thread.
///
/// `getaddrinfo` blocks, for many seconds where a name server is silent, so each lookup has a
/// thread of its own. `uv_getaddrinfo` would not do: libuv waits for its threads when the process
/// ends, and a silent name server would keep a node from stopping in time.
final class NameLookups {
    typealias Answer = Result<[SocketAddress], NetworkError>
    typealias Find = @Sendable (_ name: String, _ port: UInt16) -> Answer

    /// The most lookups at once; a further one fails, and its caller tries again with the next
    /// dial.
    static let underwayMax = 16

    /// The callbacks that wait for each lookup.
    private var waiting: [Endpoint: [(Answer) -> Void]] = [:]
    private let find: Find

    /// - Parameter find: queries the system on a thread of its own, and may block.
    init(find: @escaping Find = NameLookups.ask) { self.find = find }

    /// Finds the addresses of an endpoint's name; `then` is called on the loop, possibly at once.
    ///
    /// Calls for a name that is being looked up already share that lookup.
    func find(
        _ name: String, of endpoint: Endpoint, on loop: EventLoop,
        then: @escaping (Answer) -> Void
    ) {
        loop.checkConfined()
        if waiting[endpoint] != nil {
            waiting[endpoint]?.append(then)
            return
        }
        guard waiting.count < NameLookups.underwayMax else {
            return then(.failure(.unresolved(name, "too many names are being looked up")))
        }
        waiting[endpoint] = [then]
        let lookup = Lookup(name, endpoint, on: loop, by: find)
        if !lookup.start() {
            finishLookup(endpoint, .failure(.unresolved(name, "no thread can be started")))
        }
    }

    func finishLookup(_ endpoint: Endpoint, _ answer: Answer) {
        for then in waiting.removeValue(forKey: endpoint) ?? [] { then(answer) }
    }
}

/// A lookup on a thread of its own, which nothing waits for.
private final class Lookup: Sendable {
    private let name: String
    private let endpoint: Endpoint
    private let loop: EventLoop
    private let find: NameLookups.Find

    init(
        _ name: String, _ endpoint: Endpoint, on loop: EventLoop,
        by find: @escaping NameLookups.Find
    ) {
        self.name = name
        self.endpoint = endpoint
        self.loop = loop
        self.find = find
    }

    func start() -> Bool { launchThread { self.run() } }

    private func run() {
        let answer = find(name, endpoint.port)
        loop.post { [loop, endpoint] in loop.lookups.finishLookup(endpoint, answer) }
    }
}

// MARK: The system

extension NameLookups {
    /// Queries the system's resolver: `/etc/hosts`, name servers, and whatever else is configured.
    static let ask: Find = { name, port in
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, "\(port)", &hints, &list)
        guard code == 0 else {
            return .failure(.unresolved(name, String(cString: gai_strerror(code))))
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let name = entry.pointee.ai_addr,
                let address = SocketAddress(name, byteCount: Int(entry.pointee.ai_addrlen)),
                !found.contains(address)
            {
                found.append(address)
            }
            next = entry.pointee.ai_next
        }
        guard !found.isEmpty else {
            return .failure(.unresolved(name, "it has no IP address"))
        }
        return .success(found)
    }
}
