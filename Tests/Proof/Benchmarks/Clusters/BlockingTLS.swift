import COpenSSL

/// What the encrypted blocking connections of one client share; it believes any certificate.
final class BlockingTLS {
    private let context: OpaquePointer

    init() throws(BenchError) {
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw BenchError("OpenSSL makes no context")
        }
        self.context = context
    }

    deinit { SSL_CTX_free(context) }

    /// Makes a connection an encrypted one, which is reset where it closes.
    ///
    /// Several threads may do so at once, each with a connection of its own.
    func shakeHands(_ connection: BlockingConnection) throws(BenchError) -> Session {
        connection.setReset()
        guard let ssl = SSL_new(context) else { throw BenchError("OpenSSL is out of memory") }
        let session = Session(connection, ssl)
        guard SSL_set_fd(ssl, connection.descriptor) == 1, SSL_connect(ssl) == 1 else {
            throw BenchError("a node refused a TLS handshake")
        }
        return session
    }

    /// An encrypted connection.
    final class Session {
        private static let answerBytesMax = 4_096

        /// Open for as long as the session is.
        private let connection: BlockingConnection
        private let ssl: OpaquePointer

        init(_ connection: BlockingConnection, _ ssl: OpaquePointer) {
            self.connection = connection
            self.ssl = ssl
        }

        deinit { SSL_free(ssl) }

        /// Sends a request, and returns the beginning of the answer: empty where there is none.
        func ask(_ request: [UInt8]) -> ArraySlice<UInt8> {
            guard SSL_write(ssl, request, Int32(request.count)) == request.count else { return [] }
            var answer = [UInt8](repeating: 0, count: Self.answerBytesMax)
            return answer[..<Int(max(0, SSL_read(ssl, &answer, Int32(answer.count))))]
        }
    }
}
