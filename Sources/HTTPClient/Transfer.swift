import CCurl
import Glibc
import NetworkIO

/// A request under way, and libcurl's handle of it.
final class Transfer {
    /// The settings that all transfers of a client share.
    struct Settings {
        /// The file with the certificates that are trusted; nil for those of the system.
        let authorities: String?
        let mayReachPrivate: Bool
    }

    /// The milliseconds after which written data that was not taken resets a connection.
    ///
    /// libcurl ends a request that has timed out, but not the connection that it shares with
    /// others: of a server that has vanished, all later requests would time out as well, for the
    /// quarter of an hour that the kernel goes on trying.
    private static let untakenMillisecondsMax: Int32 = 20_000

    let easy: UnsafeMutableRawPointer
    let onDone: @Sendable (Result<Int, HTTPClientError>) -> Void
    /// The reason why the request cannot be sent.
    private(set) var failure: HTTPClientError?

    private let settings: Settings
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var answerBytes = 0
    private var hasRefusedAddress = false

    /// Fails where libcurl has no memory.
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

    /// Returns the status, or why there is none.
    ///
    /// The status counts as soon as it is there: a server that has accepted a request and then
    /// stalls or goes on for ever has accepted it.
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
        // The byte more gives an empty body an address.
        note(ccurl_set_body(easy, request.body + [0], curl_off_t(request.body.count)))
        // One connection for all requests to a server that speaks HTTP/2: they wait until it has
        // said so, and without TLS it never does.
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        set(CURLOPT_PIPEWAIT, request.isEncrypted ? 1 : 0)
        set(CURLOPT_TIMEOUT_MS, Int(Int32(clamping: request.timeoutMilliseconds)))
    }

    private func setLimits() {
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // None, whatever the environment says: the address of a proxy would be checked instead of
        // the server's.
        set(CURLOPT_PROXY, "")
        // Signals are the process's own.
        set(CURLOPT_NOSIGNAL, 1)
        // Otherwise the end of a transfer waits, on the loop, for the thread that looks its name
        // up: 9.5 s for a name server that was silent.
        set(CURLOPT_QUICK_EXIT, 1)
    }

    private func setTrust() {
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        if let authorities = settings.authorities { set(CURLOPT_CAINFO, authorities) }
        // Besides the file of all authorities there is a folder of the same. libcurl keeps in
        // memory what it has read only where no folder is set.
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
        // The headers go to the same function.
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

    /// Remembers the first setting that failed: a request is not sent with a part of them.
    private func note(_ code: CURLcode) {
        if code != CURLE_OK, failure == nil { failure = .other(code: code.rawValue) }
    }
}

// MARK: - Events

extension Transfer {
    /// Drops bytes of the answer.
    ///
    /// - Returns: how many of them were taken; fewer end the transfer.
    private func onAnswer(_ count: Int) -> Int {
        answerBytes += count
        return answerBytes <= HTTPClient.answerBytesMax ? count : 0
    }

    /// Opens a socket for one of the server's addresses, which libcurl connects.
    ///
    /// Here the address is the one that is connected: a name can lead to another at each lookup.
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
