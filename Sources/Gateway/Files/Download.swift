import Chat
import HTTP
import LineProtocol
import Wire

/// The download of a file, whose parts are fetched as fast as the client reads them.
final class Download {
    static let traitsOfShow = Verb.traits(of: "FILE SHOW")
    static let traitsOfGet = Verb.traits(of: "FILE GET")
    /// The maximum number of the file's parts that are being fetched from the cluster at once.
    private static let aheadMax = 4

    let conversation: ConversationID
    let user: UserID
    let file: FileID
    let isHead: Bool
    private let rangeField: String?
    /// The tag in the request's `If-Range`: if the file has another tag, the whole file is sent,
    /// and not the requested range.
    private let condition: String?
    private let held: [String]
    var closes: Bool
    /// The range of the file's bytes that are still to be sent; nil until the file is found.
    private(set) var rest: Range<UInt64>?
    /// The number of the file's next part to fetch.
    private var next = 0
    private var waiting = 0
    private var size: UInt64 = 0
    /// The entity tag of the file's content; parts of other content with the same file ID are not
    /// sent.
    private var tagName = ""
    private var tag: EntityTag { EntityTag(tagName) }

    init(_ route: BlobRoute, _ file: FileID, by user: UserID, _ request: AppRequest) {
        conversation = route.conversation
        self.file = file
        self.user = user
        isHead = request.head.method == .head
        closes = !request.head.keepsAlive
        rangeField = request.head.fields.values(of: "range").first
        condition = request.head.fields.values(of: "if-range").first
        held = request.head.fields.values(of: "if-none-match")
    }

    /// The request for the file's metadata, which determine the head of the response.
    var firstRequest: Request { .read(FileQuery(file, in: conversation), of: user) }

    var isDone: Bool { rest.map(\.isEmpty) ?? false }

    /// The response without its body, and the length of the body; nil until the file's metadata
    /// have arrived, and again once `takeAnswer` has returned the response.
    private var answer: (response: AppResponse, length: ResponseHead.Body)?

    /// Whether the head of the response has been sent.
    var isAnswered: Bool { rest != nil && answer == nil }

    /// Returns the response without its body, once, so that the caller sends its head; nil before
    /// the file is found, and once the response was returned.
    func takeAnswer() -> (response: AppResponse, length: ResponseHead.Body)? {
        defer { answer = nil }
        return answer
    }

    /// Determines the response to a download from the file's metadata and the request's header
    /// fields.
    func begin(_ view: FileView) { answer = decided(by: view) }

    private func decided(
        by view: FileView
    ) -> (response: AppResponse, length: ResponseHead.Body) {
        size = view.size ?? 0
        tagName = view.tag ?? ""
        let type = ContentType.known(view.type)
        var response = AppResponse(.ok, body: [])
        response.contentType = type
        response.file = AppResponse.File(
            name: file.text, tag: tag.text, isShown: ContentType.isShown(type))
        response.closes = closes
        guard !tag.isHeld(by: held) else {
            rest = 0..<0
            response.status = .notModified
            return (response, .length(0))
        }
        var part = 0..<size
        let isSame = condition.map { $0 == tag.text } ?? true
        switch ByteRange(isSame ? rangeField : nil, of: size) {
        case .whole: break
        case .part(let range):
            part = range
            response.status = .partialContent
            response.file?.range = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
        case .outside:
            rest = 0..<0
            response.status = .rangeNotSatisfiable
            response.file?.range = "bytes */\(size)"
            return (response, .length(0))
        }
        rest = isHead ? 0..<0 : part
        next = Int(part.lowerBound) / LineLimits.filePartBytes
        return (response, .length(UInt64(part.count)))
    }

    /// Returns the requests that fetch the next parts of the file.
    func takeRequests() -> [Request] {
        guard let rest, !rest.isEmpty else { return [] }
        var requests: [Request] = []
        while waiting < Download.aheadMax,
            UInt64(next * LineLimits.filePartBytes) < rest.upperBound
        {
            requests.append(
                .read(FilePartQuery(next, of: file, in: conversation, tag: tagName), of: user))
            next += 1
            waiting += 1
        }
        return requests
    }

    /// Returns the bytes of a file's part that are within the requested range; nil if the part has
    /// the wrong size.
    func take(_ bytes: [UInt8], number: Int) -> ArraySlice<UInt8>? {
        let start = UInt64(number * LineLimits.filePartBytes)
        guard let rest, start < size,
            bytes.count == min(size - start, UInt64(LineLimits.filePartBytes))
        else { return nil }
        let skipped = Int(rest.lowerBound - min(start, rest.lowerBound))
        let end = min(UInt64(bytes.count), rest.upperBound - start)
        guard skipped < end else { return nil }
        self.rest = (start + end)..<rest.upperBound
        return bytes[skipped..<Int(end)]
    }

    /// The number of the file's part that the session's next response contains.
    var number: Int { next - waiting }

    func onResponse() { waiting -= 1 }
}
