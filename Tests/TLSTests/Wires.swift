import NetworkIO

@testable import TLS

/// Returns a key made of one repeated digit.
func key(_ digit: String) throws -> Key {
    guard let key = Key(String(repeating: digit, count: 64)) else { throw NoKey() }
    return key
}

struct NoKey: Error {}

extension TLSLayer {
    /// Returns the bytes that the layer has for the wire.
    func said() -> [UInt8] {
        var bytes: [UInt8] = []
        takeWire { bytes += $0 }
        return bytes
    }

    func hear(_ wire: some Sequence<UInt8>) throws(HandshakeError) {
        var failure: HandshakeError?
        Array(wire).withUnsafeBytes { bytes in
            do throws(HandshakeError) { try receive(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Returns all decrypted bytes.
    func opened() throws(HandshakeError) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let part = try open()
            if part.isEmpty { return all }
            all += part
        }
    }

    func seal(_ bytes: [UInt8]) throws(HandshakeError) {
        var failure: HandshakeError?
        bytes.withUnsafeBytes { bytes in
            do throws(HandshakeError) { try seal(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

/// Two ends in memory, and the bytes that each has sent.
struct Wires {
    let dialler: any TLSLayer
    let acceptor: any TLSLayer
    private(set) var fromDialler: [UInt8] = []
    private(set) var fromAcceptor: [UInt8] = []

    init(_ dialler: any TLSLayer, _ acceptor: any TLSLayer) {
        self.dialler = dialler
        self.acceptor = acceptor
    }

    init(_ theirs: KeyRing, _ ours: KeyRing) {
        self.init(TLSContext(theirs).dialling(), TLSContext(ours).accepting())
    }

    var isUp: Bool { dialler.isUp && acceptor.isUp }

    /// Passes bytes between the ends until neither has any.
    ///
    /// - Parameter stepBytes: the number of bytes that arrive at a time.
    mutating func talk(stepBytes: Int = .max) throws(HandshakeError) {
        try dialler.begin()
        while true {
            let there = dialler.said()
            fromDialler += there
            try carry(there, to: acceptor, stepBytes)
            let back = acceptor.said()
            fromAcceptor += back
            try carry(back, to: dialler, stepBytes)
            if there.isEmpty, back.isEmpty { return }
        }
    }

    private func carry(_ bytes: [UInt8], to end: any TLSLayer, _ step: Int) throws(HandshakeError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            try end.hear(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
    }
}
