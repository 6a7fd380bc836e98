import Wire

/// The arguments, options and text of a request that a client sends in another form than a line,
/// such as the members of a JSON object.
public struct RequestParts: Sendable {
    let verb: Verb
    private(set) var bytes: [UInt8] = []
    private(set) var arguments: [Range<Int>] = []
    /// The options that were set: the option's index in the verb's row, and the value's range.
    private(set) var options: [(slot: Int, value: Range<Int>)] = []
    /// The index in `bytes` at which the text begins; `bytes.count` for a request without a text.
    var textStart: Int { textBegin ?? bytes.count }
    private var textBegin: Int?

    public init(of verb: Verb) {
        self.verb = verb
        bytes.reserveCapacity(256)
    }

    /// Appends an argument; an empty argument counts as missing, as it does in a line.
    public mutating func append(argument: String) {
        guard !argument.isEmpty else { return }
        arguments.append(append(argument))
    }

    /// Sets the value of one of the verb's options.
    public mutating func set(_ option: Option, to value: String) {
        guard let slot = verb.options.firstIndex(where: { $0.keyword == option.keyword }) else {
            preconditionFailure("\(option.name)= is no option of \(verb.name)")
        }
        options.append((slot, append(value)))
    }

    /// Sets the request's text; the caller sets all arguments and options before the text.
    public mutating func set(text: String) { textBegin = append(text).lowerBound }

    private mutating func append(_ part: String) -> Range<Int> {
        let start = bytes.count
        var part = part
        part.withUTF8 { bytes.append(contentsOf: $0) }
        return start..<bytes.count
    }
}

extension Request {
    /// Creates a request from its parts.
    ///
    /// - Throws: 400, 413 or 429, as for a line with the same parts.
    public init(_ parts: RequestParts, minting newID: () -> String) throws(LineError) {
        let result = parts.bytes.withUnsafeBytes { bytes -> Result<Request, LineError> in
            do throws(LineError) {
                return .success(try ParsedLine(parts, in: bytes).request(minting: newID))
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }
}

extension ParsedLine {
    /// Returns the request that the verb's `build` function creates from the parsed parts.
    func request(minting newID: () -> String) throws(LineError) -> Request {
        var request: Request
        switch verb.build {
        case .plain(let build): request = try build(self)
        case .minting(let build): request = try build(self, newID)
        }
        if try choice(.times, of: TimesChoice.self) == .exact { request = request.withExactTimes() }
        if let operation = try value(.operation) {
            request = try request.requested(as: RequestedOperation(operation))
        }
        try request.checkNewNames()
        return request
    }
}
