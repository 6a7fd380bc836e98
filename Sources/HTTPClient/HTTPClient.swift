import CCurl
import NetworkIO

/// The sender of HTTP requests to other servers: libcurl on an event loop, confined to its thread.
///
/// libcurl says which sockets it waits for and for how long; the client has the loop watch them,
/// and tells libcurl what happened. Requests to one server share a connection where it speaks
/// HTTP/2. Names are looked up on threads that libcurl starts; where the time of a request is up
/// before, its thread lives on until the name servers have answered or were given up.
///
/// The owner calls `close` before it drops the client, and before the loop ends. The process has to
/// ignore SIGPIPE.
package final class HTTPClient {
    /// The most requests at once; a further one is refused.
    package static let requestsMax = 128
    /// The bytes of an answer, with its headers, after which the rest is cut off: nobody reads
    /// them.
    package static let answerBytesMax = 64 * 1024
    /// The most connections that are kept for later requests.
    static let idleConnectionsMax = 16

    private let loop: EventLoop
    private let settings: Transfer.Settings
    /// Nil once the client is closed.
    private var multi: UnsafeMutableRawPointer?
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var watchers: [curl_socket_t: SocketWatcher] = [:]
    private var timer: Timer?

    /// The result of what libcurl does once in a process.
    private static let start = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// - Parameters:
    ///   - authorities: a file with the certificates in PEM that are trusted; nil for those of the
    ///     system.
    ///   - mayReachPrivate: whether requests may go to addresses that are not public. Where users
    ///     name the servers, they could otherwise reach what only this network is to reach.
    package init(
        on loop: EventLoop, authorities: String? = nil, mayReachPrivate: Bool = false
    ) throws(HTTPClientError) {
        self.loop = loop
        settings = Transfer.Settings(authorities: authorities, mayReachPrivate: mayReachPrivate)
        guard HTTPClient.start == CURLE_OK, let multi = curl_multi_init() else {
            throw .other(code: CURLE_FAILED_INIT.rawValue)
        }
        self.multi = multi
        let context = Unmanaged.passUnretained(self).toOpaque()
        let codes = [
            ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, HTTPClient.idleConnectionsMax),
            ccurl_on_socket(
                multi,
                { _, socket, events, context, _ in
                    guard let context else { return 0 }
                    Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue()
                        .watch(socket, events)
                    return 0
                }, context),
            ccurl_on_timer(
                multi,
                { _, milliseconds, context in
                    guard let context else { return 0 }
                    Unmanaged<HTTPClient>.fromOpaque(context).takeUnretainedValue()
                        .setTimer(milliseconds)
                    return 0
                }, context),
        ]
        precondition(codes.allSatisfy { $0 == CURLM_OK }, "libcurl has these settings")
    }

    deinit { precondition(multi == nil, "a client is closed before it is dropped") }

    /// Sends a request.
    ///
    /// - Parameter onDone: called once, on the loop and after this has returned, with the status;
    ///   redirects are not followed. Not called any more after `close`.
    /// - Returns: whether the request was taken: false where too many are under way, where there is
    ///   no memory, and after `close`.
    package func post(
        _ request: OutgoingRequest,
        onDone: @escaping @Sendable (Result<Int, HTTPClientError>) -> Void
    ) -> Bool {
        guard let multi, transfers.count < HTTPClient.requestsMax,
            let transfer = Transfer(request, settings, onDone: onDone)
        else { return false }
        let easy = transfer.easy
        transfers[easy] = transfer
        guard let failure = transfer.failure ?? add(easy, to: multi) else { return true }
        loop.afterFlush { [weak self] in self?.finish(easy) { _ in .failure(failure) } }
        return true
    }

    private func add(
        _ easy: UnsafeMutableRawPointer, to multi: UnsafeMutableRawPointer
    ) -> HTTPClientError? {
        let code = curl_multi_add_handle(multi, easy)
        return code == CURLM_OK ? nil : .other(code: CURLE_FAILED_INIT.rawValue)
    }

    /// Drops all requests and connections; harmless when repeated.
    package func close() {
        guard let multi else { return }
        self.multi = nil
        timer?.cancel()
        timer = nil
        for watcher in watchers.values { watcher.cancel() }
        watchers = [:]
        for easy in transfers.keys { curl_multi_remove_handle(multi, easy) }
        transfers = [:]
        curl_multi_cleanup(multi)
    }
}

// MARK: - What libcurl asks for

extension HTTPClient {
    /// Watches a socket for what libcurl waits for on it.
    private func watch(_ socket: curl_socket_t, _ wanted: Int32) {
        if wanted == CURL_POLL_REMOVE {
            watchers.removeValue(forKey: socket)?.cancel()
            return
        }
        guard multi != nil, let watcher = watcher(of: socket) else { return }
        var events: SocketWatcher.Events = []
        if wanted & CURL_POLL_IN != 0 { events.insert(.readable) }
        if wanted & CURL_POLL_OUT != 0 { events.insert(.writable) }
        watcher.watch(events)
    }

    private func watcher(of socket: curl_socket_t) -> SocketWatcher? {
        if let watcher = watchers[socket] { return watcher }
        do throws(NetworkError) {
            let watcher = try SocketWatcher(socket, on: loop) { [weak self] events in
                self?.onEvents(events, of: socket)
            }
            watchers[socket] = watcher
            return watcher
        } catch {
            // The request runs into its time limit. An error told to libcurl would end all others.
            return nil
        }
    }

    /// - Parameter milliseconds: negative for no timer; with 0 the timer fires in the next turn,
    ///   since libcurl must not be called from within.
    private func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard multi != nil, milliseconds >= 0 else { return }
        timer = Timer(on: loop, afterMilliseconds: UInt64(milliseconds)) { [weak self] in
            self?.timer = nil
            self?.act(CURL_SOCKET_TIMEOUT, 0)
        }
    }
}

// MARK: - What libcurl is told

extension HTTPClient {
    private func onEvents(_ events: SocketWatcher.Events, of socket: curl_socket_t) {
        var mask: Int32 = 0
        if events.contains(.readable) { mask |= CURL_CSELECT_IN }
        if events.contains(.writable) { mask |= CURL_CSELECT_OUT }
        if events.contains(.failed) { mask |= CURL_CSELECT_ERR }
        act(socket, mask)
    }

    private func act(_ socket: curl_socket_t, _ mask: Int32) {
        guard let multi else { return }
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, mask, &running)
        var done: [(easy: UnsafeMutableRawPointer, code: CURLcode)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left)?.pointee {
            guard message.msg == CURLMSG_DONE, let easy = message.easy_handle else { continue }
            done.append((easy, message.data.result))
        }
        // The owner may post, or close the client, when it is told of one.
        for (easy, code) in done { finish(easy) { $0.result(of: code) } }
    }

    private func finish(
        _ easy: UnsafeMutableRawPointer, _ result: (Transfer) -> Result<Int, HTTPClientError>
    ) {
        guard let multi, let transfer = transfers.removeValue(forKey: easy) else { return }
        curl_multi_remove_handle(multi, easy)
        transfer.onDone(result(transfer))
    }
}
