import NetworkIO

/// A TLS layer of a child's kind: each says a word, then every byte is turned over.
final class Mask: TLSLayer {
    static let word = Array("open sesame\n".utf8)
    /// Announces the end: what it stands for is never written.
    static let end: UInt8 = 0xff
    /// How many bytes it opens at a time.
    static let openedBytesMax = 1_000

    private let begins: Bool
    private var heard: [UInt8] = []
    private var wire: [UInt8] = []
    private var closed: [UInt8] = []
    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: openedBytesMax, alignment: 1)
    private(set) var isUp = false
    private(set) var hasReachedEnd = false
    /// How often it was asked to seal something.
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
