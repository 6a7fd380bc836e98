import CCurl
import NetworkIO

/// The client for HTTP requests to other servers: libcurl on an event loop, confined to its thread.
///
/// libcurl reports which sockets it waits for and for how long; the client lets the event loop
/// watch the sockets, and reports their events to libcurl. Requests to one server share a
/// connection if the server supports HTTP/2. libcurl resolves host names on its own threads; if a
/// request times out before its name is resolved, the thread continues until the name servers
/// answer or libcurl gives up.
///
/// The owner must call `close` before it releases the client, and before the event loop ends. The
/// process must ignore SIGPIPE.
package final class HTTPClient {
    /// The maximum number of concurrent HTTP requests; a further request is refused.
    package static let requestsMax = 128
    /// The number of bytes of a response, with its headers, after which the response is cut off,
    /// because only its status is used.
    package static let answerBytesMax = 64 * 1024
    /// The maximum number of idle connections that are kept for later requests.
    static let idleConnectionsMax = 16

    private let loop: EventLoop
    private let settings: Transfer.Settings
    /// libcurl's handle for all requests; nil once the client is closed.
    private var multi: UnsafeMutableRawPointer?
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var watchers: [curl_socket_t: SocketWatcher] = [:]
    private var timer: Timer?

    /// The result of libcurl's initialisation, which happens once in a process.
    private static let start = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// - Parameters:
    ///   - authorities: a PEM file with the certificate authorities to trust; nil for those of the
    ///     operating system.
    ///   - mayReachPrivate: whether requests may go to IP addresses that are not public. If users
    ///     choose the servers, such requests would give users access to servers inside the
    ///     operator's network.
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

    /// Sends an HTTP POST request.
    ///
    /// - Parameter onDone: called once, on the event loop and after this method has returned, with
    ///   the HTTP status; redirects are not followed. It is not called after `close`.
    /// - Returns: whether the request was accepted: false if too many requests are in progress, if
    ///   memory is exhausted, or after `close`.
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

    /// Cancels all requests and closes all connections; repeated calls have no effect.
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
    /// Watches a socket for the events that libcurl waits for.
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
            // The request ends at its time limit. An error returned to libcurl would end all other
            // requests.
            return nil
        }
    }

    /// - Parameter milliseconds: the delay; negative for no timer. With 0 the timer fires in the
    ///   loop's next iteration, because libcurl must not be called from its own callback.
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
        // The callbacks may send other requests, or close the client.
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
