import Admin
import CRDT
import Chat
import JSON
import LineProtocol
import Wire

/// The upload of a file: it cuts the received bytes into parts, of which at most 16 are being
/// stored at once.
final class Upload {
    /// The maximum number of parts of one upload that are being stored at once; beyond it, the node
    /// reads no more of the upload.
    private static let waitingMax = 16
    /// The number of parts, 2 MiB together, after which an upload checks the limit of the user's
    /// unsent files again, since the user's other uploads may have grown meanwhile.
    ///
    /// A file is unsent until it is sent in a message.
    private static let partsBetweenChecks = 64
    private static let traitsOfAdd = Verb.traits(of: "FILE ADD")
    private static let traitsOfPut = Verb.traits(of: "FILE PUT")
    private static let traitsOfEnd = Verb.traits(of: "FILE END")
    /// The maximum time in which an upload has to arrive, in milliseconds; a slower upload gets the
    /// error 408.
    static let millisecondsMax: UInt64 = 600_000

    let conversation: ConversationID
    let user: UserID
    let file: FileID
    let began: UInt64
    /// The requests that have yet to be submitted to the session.
    private var requests: [(request: Request, traits: Verb.Traits?)] = []
    private var requestsBytes = 0
    /// For each request without a response, in the order of the requests, whether it stores a part.
    private var awaited: [Bool] = []
    private var unsent: [UInt8] = []
    private var type: String?
    private var parts: [PartID] = []
    /// How many parts of the file are being stored.
    private(set) var places = 0
    /// The session token that names the writes of the upload; nil until the file is stored.
    private(set) var token: String?
    private(set) var size = 0
    /// Whether the whole file has arrived.
    private var hasArrived = false
    /// Whether all parts are stored and the write that completes the file has been requested.
    private var isEnding = false
    private(set) var failure: LineError?

    /// - Parameter since: the session tokens that the client sent.
    init(
        to conversation: ConversationID, as file: FileID, by user: UserID, since: [Token],
        now: UInt64
    ) {
        self.conversation = conversation
        self.file = file
        self.user = user
        began = now
        for token in since { ask(.since(token)) }
    }

    var heldBytes: Int { unsent.count + requestsBytes }

    var hasRequests: Bool { !requests.isEmpty }

    /// Whether the received bytes fill a part; the node then reads no more of the upload until it
    /// begins to store the part.
    var isFull: Bool { unsent.count >= LineLimits.filePartBytes }

    /// Whether the next part of the file has arrived and may be stored as soon as the upload gets
    /// one of the permits that limit how many parts of all uploads are stored at once.
    var hasPart: Bool {
        places < Upload.waitingMax && failure == nil && (isFull || hasArrived && !unsent.isEmpty)
    }

    /// Whether the session has answered all requests of the upload, or the upload has failed.
    var isDone: Bool { isEnding && awaited.isEmpty || failure != nil }

    /// - Throws: 413 for a file of more than `LineLimits.fileBytesMax` bytes.
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

    /// Requests the write that completes the file, once all parts of the file are stored.
    func endIfStored() {
        guard hasArrived, unsent.isEmpty, awaited.isEmpty, !isEnding, failure == nil else { return }
        isEnding = true
        // A user who learns of the file may request it from any node, so all owners have to store
        // it.
        ask(.set(Request.SetLevel(level: .all, isStrict: false)))
        ask(
            .write(
                Mutation(
                    EndUpload(size: UInt64(size), parts: parts), of: file, in: conversation,
                    by: user)),
            Upload.traitsOfEnd)
        ask(.token)
    }

    private func begin() {
        let type = ContentType.sniff(unsent)
        self.type = type
        ask(beginning(of: type), Upload.traitsOfAdd)
    }

    private func beginning(of type: String) -> Request {
        .write(Mutation(BeginUpload(type: FieldText(type)), of: file, in: conversation, by: user))
    }

    /// Queues the write of the file's next part.
    ///
    /// After every `partsBetweenChecks` parts, it first queues a write that checks again whether
    /// the user's files that are not yet sent in a message exceed their limit.
    func put() {
        if let type, !parts.isEmpty, parts.count.isMultiple(of: Upload.partsBetweenChecks) {
            ask(beginning(of: type), Upload.traitsOfAdd)
        }
        let bytes = Array(unsent.prefix(LineLimits.filePartBytes))
        places += 1
        let part = PartID(ofPart: bytes)
        ask(
            .write(Mutation(PutFilePart(bytes), on: part, of: file, in: conversation, by: user)),
            Upload.traitsOfPut, partBytes: bytes.count)
        parts.append(part)
        unsent.removeFirst(bytes.count)
    }

    /// Queues a request of the upload, which is submitted to the session later.
    ///
    /// - Parameters:
    ///   - traits: the traits of the request's verb; nil for a request of the gateway itself, which
    ///     the metrics do not count.
    ///   - partBytes: the size of the file part that the request stores, in bytes; 0 if none.
    private func ask(_ request: Request, _ traits: Verb.Traits? = nil, partBytes: Int = 0) {
        requests.append((request, traits))
        requestsBytes += partBytes
        awaited.append(partBytes > 0)
    }

    func takeRequests() -> [(request: Request, traits: Verb.Traits?)] {
        defer { (requests, requestsBytes) = ([], 0) }
        return requests
    }

    /// - Returns: whether the response was to a write of a part, so that the caller gives back a
    ///   permit.
    func onResponse(_ response: Response) -> Bool {
        guard !awaited.isEmpty else { return false }
        let isPart = awaited.removeFirst()
        if let error = response.error, failure == nil { failure = error }
        token = response.tokenText ?? token
        guard isPart, places > 0 else { return false }
        places -= 1
        return true
    }

    /// Returns the number of permits to store a part that an upload still has at its end, and sets
    /// the number to zero, because the caller gives the permits back.
    func takePlaces() -> Int {
        defer { places = 0 }
        return places
    }

    /// The JSON body of the response to a complete upload.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.pair("id", file.text)
            $0.pair("type", type ?? ContentType.unknown)
            $0.pair("size", size)
        }
        return writer.bytes
    }
}

extension LineError {
    static let fileNameTooLong = LineError(
        400, "file is 1-\(LineLimits.fileNameBytesMax) of A-Z a-z 0-9 _ . : @ -")
}
