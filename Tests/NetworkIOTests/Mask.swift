import NetworkIO

/// A toy TLS layer: each end sends a password, then every byte is inverted.
final class Mask: TLSLayer {
    static let word = Array("open sesame\n".utf8)
    /// The byte that announces the end; its inverse must not be written.
    static let end: UInt8 = 0xff
    /// The most bytes that are opened at a time.
    static let openedBytesMax = 1_000

    private let begins: Bool
    private var heard: [UInt8] = []
    private var wire: [UInt8] = []
    private var closed: [UInt8] = []
    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: openedBytesMax, alignment: 1)
    private(set) var isUp = false
    private(set) var hasReachedEnd = false
    /// The number of calls that sealed something.
    private let seals: Lock<Int>

    init(begins: Bool, _ seals: Lock<Int>) {
        self.begins = begins
        self.seals = seals
    }

    deinit { memory.deallocate() }

    func begin() throws(HandshakeError) { if begins { wire += Mask.word } }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HandshakeError) {
        guard !isUp else {
            closed += bytes
            return
        }
        heard += bytes
        guard heard.count >= Mask.word.count else { return }
        guard heard.starts(with: Mask.word) else {
            wire += Array("no".utf8)
            throw .wrongKey
        }
        if !begins { wire += Mask.word }
        isUp = true
        closed += heard[Mask.word.count...]
    }

    func open() throws(HandshakeError) -> UnsafeRawBufferPointer {
        let part = closed.prefix(Mask.openedBytesMax).prefix { $0 != Mask.end }
        closed.removeFirst(part.count)
        memory.copyBytes(from: part.map { ~$0 })
        if part.isEmpty, closed.first == Mask.end { hasReachedEnd = true }
        return UnsafeRawBufferPointer(rebasing: memory[..<part.count])
    }

    func seal(_ plain: UnsafeRawBufferPointer) throws(HandshakeError) {
        seals.withLock { $0 += 1 }
        wire += plain.map { ~$0 }
    }

    func sealEnd() throws(HandshakeError) { wire.append(Mask.end) }

    func takeWire(_ body: (UnsafeRawBufferPointer) -> Void) {
        let bytes = wire
        wire = []
        if !bytes.isEmpty { bytes.withUnsafeBytes(body) }
    }
}
