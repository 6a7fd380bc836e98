import JSON
import LineProtocol
import Wire

/// The upload of a file: what has arrived of it becomes parts, of which few are on their way at a
/// time.
final class Upload {
    /// The most parts that wait to be stored; then no more is read.
    private static let waitingMax = 4
    /// The most milliseconds of an upload (408).
    static let millisecondsMax: UInt64 = 600_000

    let conversation: ConversationID
    let user: UserID
    let file: String
    let began: UInt64
    /// The lines that the session has yet to be handed.
    private(set) var lines: [[UInt8]] = []
    /// The lines whose replies are awaited, those in `lines` too.
    private var waiting = 0
    private var unsent: [UInt8] = []
    private var type: String?
    private var parts = 0
    private(set) var size = 0
    /// Whether all of the file has arrived.
    private var hasArrived = false
    /// Whether the file is being ended: all of its parts are stored.
    private var isEnding = false
    private(set) var failure: LineError?

    init(to conversation: ConversationID, as file: String, by user: UserID, now: UInt64) {
        self.conversation = conversation
        self.file = file
        self.user = user
        began = now
    }

    var heldBytes: Int { unsent.count + lines.reduce(0) { $0 + $1.count } }

    /// Whether what was read has to be stored before more is read.
    var isFull: Bool { waiting >= Upload.waitingMax }

    /// Whether all replies have come.
    var isDone: Bool { isEnding && waiting == 0 || failure != nil }

    /// - Throws: 413.
    static func check(_ size: UInt64) throws(LineError) {
        let limit = LineLimits.filePartBytes * LineLimits.filePartsMax
        guard size <= UInt64(limit) else {
            throw LineError(413, "A file has at most \(limit) bytes")
        }
    }

    func append(_ bytes: Slice<UnsafeRawBufferPointer>) throws(LineError) {
        try Upload.check(UInt64(size + bytes.count))
        size += bytes.count
        unsent += bytes
        if type == nil, unsent.count >= ContentType.bytesNeeded { begin() }
        while unsent.count >= LineLimits.filePartBytes { put(LineLimits.filePartBytes) }
    }

    func end() {
        if type == nil { begin() }
        if !unsent.isEmpty { put(unsent.count) }
        hasArrived = true
    }

    /// Ends the file once all its parts are stored: one of them may yet be refused.
    func endIfStored() {
        guard hasArrived, waiting == 0, !isEnding, failure == nil else { return }
        isEnding = true
        // Whoever is told of the file may ask any node for it.
        ask("SET ack=all")
        ask("FILE END \(conversation) \(file) \(user) size=\(size)")
    }

    private func begin() {
        let type = ContentType.sniff(unsent)
        self.type = type
        ask("FILE ADD \(conversation) \(user) id=\(file) type=\(type)")
    }

    private func put(_ count: Int) {
        let bytes = Base64.encode(Array(unsent.prefix(count)))
        ask("FILE PUT \(conversation) \(file) \(user) \(parts) \(bytes)")
        parts += 1
        unsent.removeFirst(count)
    }

    private func ask(_ line: String) {
        lines.append(Array(line.utf8) + [UInt8(ascii: "\n")])
        waiting += 1
    }

    func takeLines() -> [[UInt8]] {
        defer { lines = [] }
        return lines
    }

    func onReply(_ line: LineView) {
        guard line.isOK || line.error != nil else { return }
        waiting -= 1
        if let error = line.error, failure == nil { failure = error }
    }

    /// The body of the answer.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.pair("id", file)
            $0.pair("type", type ?? ContentType.unknown)
            $0.pair("size", size)
        }
        return writer.bytes
    }
}
