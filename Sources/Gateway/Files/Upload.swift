import JSON
import LineProtocol
import Wire

/// The upload of a file: what has arrived of it becomes parts, of which few are on their way at a
/// time.
final class Upload {
    /// The most parts that are being stored; then no more is read.
    private static let waitingMax = 16
    /// The parts after which it is asked again whether the user has too much that is not sent, two
    /// MiB of them: other uploads may have grown since this one began.
    private static let partsBetweenChecks = 64
    /// The most milliseconds of an upload (408).
    static let millisecondsMax: UInt64 = 600_000

    let conversation: ConversationID
    let user: UserID
    let file: String
    let began: UInt64
    /// The lines that the session has yet to be handed.
    private(set) var lines: [[UInt8]] = []
    /// Of each line whose reply is awaited, in their order, whether it stores a part.
    private var awaited: [Bool] = []
    private var unsent: [UInt8] = []
    private var type: String?
    private var parts: [PartID] = []
    /// The number of parts that are being stored.
    private(set) var places = 0
    /// The token that stands for the upload, once it is stored.
    private(set) var token: String?
    private(set) var size = 0
    /// Whether all of the file has arrived.
    private var hasArrived = false
    /// Whether the file is being ended: all of its parts are stored.
    private var isEnding = false
    private(set) var failure: LineError?

    /// - Parameter since: the token that the client carries.
    init(
        to conversation: ConversationID, as file: String, by user: UserID, since: String?,
        now: UInt64
    ) {
        self.conversation = conversation
        self.file = file
        self.user = user
        began = now
        if let since { ask("SINCE \(since)") }
    }

    var heldBytes: Int { unsent.count + lines.reduce(0) { $0 + $1.count } }

    /// Whether what was read has to be stored before more is read.
    var isFull: Bool { unsent.count >= LineLimits.filePartBytes }

    /// Whether a part has arrived, and may be stored if there is a place for it.
    var hasPart: Bool {
        places < Upload.waitingMax && failure == nil && (isFull || hasArrived && !unsent.isEmpty)
    }

    /// Whether all replies have come.
    var isDone: Bool { isEnding && awaited.isEmpty || failure != nil }

    /// - Throws: 413.
    static func check(_ size: UInt64) throws(LineError) {
        let limit = LineLimits.fileBytesMax
        guard size <= limit else {
            throw LineError(413, "A file has at most \(limit) bytes")
        }
    }

    func append(_ bytes: Slice<UnsafeRawBufferPointer>) throws(LineError) {
        try Upload.check(UInt64(size + bytes.count))
        size += bytes.count
        unsent += bytes
        if type == nil, unsent.count >= ContentType.bytesNeeded { begin() }
    }

    func end() {
        if type == nil { begin() }
        hasArrived = true
    }

    /// Ends the file once all its parts are stored: one of them may yet be refused.
    func endIfStored() {
        guard hasArrived, unsent.isEmpty, awaited.isEmpty, !isEnding, failure == nil else { return }
        isEnding = true
        // Whoever is told of the file may ask any node for it.
        ask("SET ack=all")
        let names = parts.map(\.text).joined(separator: ",")
        let content = parts.isEmpty ? "size=0" : "size=\(size) parts=\(names)"
        ask("FILE END \(conversation) \(file) \(user) \(content)")
        ask("TOKEN")
    }

    private func begin() {
        let type = ContentType.sniff(unsent)
        self.type = type
        ask(beginning(of: type))
    }

    private func beginning(of type: String) -> String {
        "FILE ADD \(conversation) \(user) id=\(file) type=\(type)"
    }

    /// Makes the line that stores the next part, for which there is a place; the line before it
    /// begins the upload again where that is to be checked again.
    func put() {
        if let type, !parts.isEmpty, parts.count.isMultiple(of: Upload.partsBetweenChecks) {
            ask(beginning(of: type))
        }
        let bytes = Array(unsent.prefix(LineLimits.filePartBytes))
        places += 1
        let part = PartID(ofPart: bytes)
        let content = Base64.encode(bytes)
        ask("FILE PUT \(conversation) \(file) \(user) \(part) \(content)", isPart: true)
        parts.append(part)
        unsent.removeFirst(bytes.count)
    }

    private func ask(_ line: String, isPart: Bool = false) {
        lines.append(Array(line.utf8) + [UInt8(ascii: "\n")])
        awaited.append(isPart)
    }

    func takeLines() -> [[UInt8]] {
        defer { lines = [] }
        return lines
    }

    /// - Returns: whether a part has given its place back.
    func onReply(_ line: LineView) -> Bool {
        guard line.isOK || line.error != nil, !awaited.isEmpty else { return false }
        let isPart = awaited.removeFirst()
        if let error = line.error, failure == nil { failure = error }
        token = line.plainValue(of: "token") ?? token
        guard isPart, places > 0 else { return false }
        places -= 1
        return true
    }

    /// Returns the number of places that an upload which is given up still has.
    func takePlaces() -> Int {
        defer { places = 0 }
        return places
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
