import COpenSSL
import Foundation
import NetworkIO
import Testing

@testable import TLS

/// A client that trusts any certificate, in memory.
private final class CertificateClient {
    let ssl: OpaquePointer
    private let context: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    init(versionMax: Int32, protocols: [String] = []) throws {
        context = try #require(SSL_CTX_new(TLS_client_method()))
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(versionMax), nil)
        ssl = try #require(SSL_new(context))
        incoming = try #require(BIO_new(BIO_s_mem()))
        outgoing = try #require(BIO_new(BIO_s_mem()))
        SSL_set_bio(ssl, incoming, outgoing)
        SSL_set_connect_state(ssl)
        let offered = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !offered.isEmpty { SSL_set_alpn_protos(ssl, offered, UInt32(offered.count)) }
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    /// Exchanges bytes with a layer until neither has more to say.
    ///
    /// - Returns: whether the client considers the handshake complete.
    func talk(to layer: CertificateLayer, stepBytes: Int = .max) throws -> Bool {
        for _ in 0..<6 {
            let code = SSL_do_handshake(ssl)
            try say(to: layer, stepBytes: stepBytes)
            layer.takeWire { _ = BIO_write(incoming, $0.baseAddress, Int32($0.count)) }
            if code == 1, layer.isUp { return true }
        }
        return false
    }

    func say(to layer: CertificateLayer, stepBytes: Int = .max) throws {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = Int(BIO_read(outgoing, &bytes, Int32(bytes.count)))
        guard count > 0 else { return }
        var rest = bytes[..<count]
        while !rest.isEmpty {
            let step = Array(rest.prefix(stepBytes))
            rest = rest.dropFirst(step.count)
            try step.withUnsafeBytes { try layer.receive($0) }
        }
    }

    func write(_ text: [UInt8]) { SSL_write(ssl, text, Int32(text.count)) }

    func read(from layer: CertificateLayer) -> [UInt8] {
        layer.takeWire { _ = BIO_write(incoming, $0.baseAddress, Int32($0.count)) }
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = Int(SSL_read(ssl, &bytes, Int32(bytes.count)))
        return Array(bytes[..<max(0, count)])
    }
}

@Suite struct CertificateLayerTests {
    /// Writes files that are removed with the test, and reads them.
    private func context(
        _ certificate: String = TestCertificate.certificate, _ key: String = TestCertificate.key,
        mode: Int = 0o600
    ) throws -> CertificateContext {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "grapevine-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { _ = remove(folder) }
        let paths = ["cert.pem", "key.pem"].map { folder.appending(path: $0).path }
        try certificate.write(toFile: paths[0], atomically: true, encoding: .utf8)
        try key.write(toFile: paths[1], atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: paths[1])
        return try CertificateContext(Certificate(certificate: paths[0], key: paths[1]))
    }

    private func remove(_ folder: URL) -> Bool {
        do {
            try FileManager.default.removeItem(at: folder)
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION], [1, 7, Int.max])
    func `a client is served by what it shows, and words pass both ways`(
        version: Int32, stepBytes: Int
    ) throws {
        let layer = try context().accepting()
        let client = try CertificateClient(versionMax: version, protocols: ["h2", "http/1.1"])
        #expect(try client.talk(to: layer, stepBytes: stepBytes))
        #expect(SSL_version(client.ssl) == version)
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(client.ssl, &name, &count)
        let chosen = UnsafeBufferPointer(start: name, count: Int(count))
        #expect(chosen.elementsEqual("http/1.1".utf8))
        client.write(Array("hello".utf8))
        try client.say(to: layer, stepBytes: stepBytes)
        #expect(try layer.open().elementsEqual("hello".utf8))
        try Array("there".utf8).withUnsafeBytes { try layer.seal($0) }
        #expect(client.read(from: layer) == Array("there".utf8))
    }

    @Test func `old versions and other protocols are refused`() throws {
        let old = try CertificateClient(versionMax: TLS1_1_VERSION)
        let layer = try context().accepting()
        #expect(throws: HandshakeError.self) { try old.talk(to: layer) }
        let plain = try context().accepting()
        #expect(throws: HandshakeError.plainText) {
            try Array("GET / HTTP/1.1\r\n\r\n".utf8).withUnsafeBytes { try plain.receive($0) }
        }
        #expect(!layer.isUp && !plain.isUp)
    }

    @Test func `a handshake that never ends is ended`() throws {
        let layer = try context().accepting()
        // A record of a handshake that announces more than it has.
        let record: [UInt8] = [22, 3, 1, 0x3F, 0xFF, 1, 0, 0xFF, 0xFF]
        let bytes = record + [UInt8](repeating: 0, count: 100_000)
        #expect(throws: HandshakeError.self) {
            try bytes.withUnsafeBytes { try layer.receive($0) }
        }
    }

    @Test func `files that do not fit say why`() throws {
        #expect(throws: Certificate.Unusable.self) {
            try context(TestCertificate.certificate, TestCertificate.otherKey)
        }
        #expect(throws: Certificate.Unusable.self) { try context("nonsense") }
        #expect(throws: Certificate.Unusable.self) {
            try context(TestCertificate.certificate, "nonsense")
        }
        #expect(throws: Certificate.Unusable.self) { try context(mode: 0o644) }
        #expect(throws: Certificate.Unusable.self) {
            try Certificate(certificate: "/nowhere", key: "/nowhere")
        }
    }
}
