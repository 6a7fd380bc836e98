import Foundation
import HTTPClient
import NetworkIO
import TLS
import Testing

@Suite struct TrustTests {
    /// Sends a request to a server with the certificate of localhost.
    ///
    /// - Parameter isTrusted: whether the client is given that certificate.
    private func outcomes(host: String, isTrusted: Bool) throws -> [Exchange.Outcome] {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "grapevine-http-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) }
        }
        let paths = ["cert.pem", "key.pem"].map { folder.appending(path: $0).path }
        for (path, text) in zip(paths, [TestCertificate.certificate, TestCertificate.key]) {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        let context = try CertificateContext(Certificate(certificate: paths[0], key: paths[1]))
        let exchange = try Exchange(
            .text("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), certificates: context,
            authorities: isTrusted ? paths[0] : nil)
        let url = "https://\(host):\(exchange.address.port)/"
        return exchange.run(exchange.request(url), exchange.request(url))
    }

    @Test func `a server whose certificate is trusted is sent the request`() throws {
        #expect(try outcomes(host: "localhost", isTrusted: true) == [.success(201), .success(201)])
    }

    @Test func `a server whose certificate nobody knows is not`() throws {
        let distrusted = Exchange.Outcome.failure(.distrusted)
        #expect(try outcomes(host: "localhost", isTrusted: false) == [distrusted, distrusted])
    }

    @Test func `a server with the certificate of another name is not`() throws {
        let distrusted = Exchange.Outcome.failure(.distrusted)
        #expect(try outcomes(host: "127.0.0.1", isTrusted: true) == [distrusted, distrusted])
    }
}
