import CCurl
import Glibc
import NetworkIO

/// An HTTP request in progress, with its libcurl handle.
final class Transfer {
    /// The settings that all requests of an HTTP client share.
    struct Settings {
        /// The PEM file with the certificate authorities to trust; nil for those of the operating
        /// system.
        let authorities: String?
        let mayReachPrivate: Bool
    }

    /// The time after which the kernel resets a connection whose peer does not acknowledge data, in
    /// milliseconds (`TCP_USER_TIMEOUT`).
    ///
    /// libcurl ends a request that has timed out, but not a connection that other requests share.
    /// If a server has vanished, all later requests would also time out until the kernel gives up,
    /// after 15 minutes.
    private static let untakenMillisecondsMax: Int32 = 20_000

    let easy: UnsafeMutableRawPointer
    let onDone: @Sendable (Result<Int, HTTPClientError>) -> Void
    /// The reason why the request cannot be sent; nil if it can.
    private(set) var failure: HTTPClientError?

    private let settings: Settings
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var answerBytes = 0
    private var hasRefusedAddress = false

    /// Prepares a request; nil if libcurl has no memory.
    init?(
        _ request: OutgoingRequest, _ settings: Settings,
        onDone: @escaping @Sendable (Result<Int, HTTPClientError>) -> Void
    ) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.settings = settings
        self.onDone = onDone
        guard request.isWellFormed else {
            failure = .malformed
            return
        }
        setRequest(request)
        setLimits()
        setTrust()
        setCallbacks()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
    }

    /// Returns the HTTP status of the response, or the reason why there is none.
    ///
    /// The status counts once it has arrived, even if the rest of the response stalls or never
    /// ends, because the server has then accepted the request.
    func result(of code: CURLcode) -> Result<Int, HTTPClientError> {
        var status = 0
        let isKnown = ccurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK
        if isKnown, status >= 200 { return .success(status) }
        if code == CURLE_COULDNT_CONNECT, hasRefusedAddress { return .failure(.privateAddress) }
        return .failure(HTTPClientError(code))
    }
}

// MARK: - Settings

extension Transfer {
    private func setRequest(_ request: OutgoingRequest) {
        set(CURLOPT_URL, request.url)
        for line in request.lines {
            guard let longer = curl_slist_append(headers, line) else {
                note(CURLE_OUT_OF_MEMORY)
                return
            }
            headers = longer
        }
        set(CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(headers))
        // The additional byte ensures that even an empty body has an address.
        note(ccurl_set_body(easy, request.body + [0], curl_off_t(request.body.count)))
        // Requests to a server that supports HTTP/2 share one connection, so they wait until the
        // first has found out whether it does. Without TLS there is no HTTP/2.
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        set(CURLOPT_PIPEWAIT, request.isEncrypted ? 1 : 0)
        set(CURLOPT_TIMEOUT_MS, Int(Int32(clamping: request.timeoutMilliseconds)))
    }

    private func setLimits() {
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // No proxy is used, even if the environment names one, because the check for private
        // addresses would see the proxy's address instead of the server's.
        set(CURLOPT_PROXY, "")
        // libcurl must not change the signal handlers of the process.
        set(CURLOPT_NOSIGNAL, 1)
        // Otherwise the event loop waits, at the end of a request, for the thread that resolves the
        // host name: 9.5 s if a name server does not answer.
        set(CURLOPT_QUICK_EXIT, 1)
    }

    private func setTrust() {
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        if let authorities = settings.authorities { set(CURLOPT_CAINFO, authorities) }
        // By default libcurl also uses a folder of the same authorities. Without the folder,
        // libcurl keeps the authorities in memory.
        note(ccurl_set_text(easy, CURLOPT_CAPATH, nil))
    }

    private func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        note(
            ccurl_on_answer(easy) { _, size, count, context in
                guard let context else { return 0 }
                return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
                    .onAnswer(size * count)
            })
        set(CURLOPT_WRITEDATA, context)
        // libcurl passes the response's headers to the same function.
        set(CURLOPT_HEADERDATA, context)
        note(
            ccurl_on_open(easy) { context, _, address in
                guard let context, let address else { return CURL_SOCKET_BAD }
                return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().open(address)
            })
        set(CURLOPT_OPENSOCKETDATA, context)
    }

    private func set(_ option: CURLoption, _ value: Int) {
        note(ccurl_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) {
        note(ccurl_set_text(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        note(ccurl_set_pointer(easy, option, value))
    }

    /// Records the first libcurl setting that failed, because a request with incomplete settings is
    /// not sent.
    private func note(_ code: CURLcode) {
        if code != CURLE_OK, failure == nil { failure = .other(code: code.rawValue) }
    }
}

// MARK: - Events

extension Transfer {
    /// Counts received bytes of the response and discards them.
    ///
    /// - Returns: the number of accepted bytes; libcurl ends the request if it is less than
    ///   `count`.
    private func onAnswer(_ count: Int) -> Int {
        answerBytes += count
        return answerBytes <= HTTPClient.answerBytesMax ? count : 0
    }

    /// Opens a socket for one of the server's IP addresses, which libcurl then connects.
    ///
    /// The check for a private address is made here, on the address that is really used, because a
    /// host name can resolve to another address each time.
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let name = SocketAddress(
            ccurl_address(address), byteCount: Int(address.pointee.addrlen))
        guard let name, settings.mayReachPrivate || name.isPublic else {
            hasRefusedAddress = true
            return CURL_SOCKET_BAD
        }
        let opened = socket(
            address.pointee.family, address.pointee.socktype, address.pointee.protocol)
        guard opened >= 0 else { return CURL_SOCKET_BAD }
        _ = fcntl(opened, F_SETFD, FD_CLOEXEC)
        var limit = Transfer.untakenMillisecondsMax
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(opened, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, size)
        return opened
    }
}
