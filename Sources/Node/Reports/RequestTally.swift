/// The kinds of client requests.
package enum RequestKind: Int, CaseIterable, Sendable {
    /// A request that shows data of users.
    case read
    /// A request that changes data of users.
    case write
    /// A request that concerns the node itself, or that cannot be parsed.
    case other
}

/// A client's request that has been answered.
package struct AnsweredRequest: Hashable, Sendable {
    /// The row of the request's verb in the protocol's table; nil for an unknown verb.
    package let verb: UInt8?
    package let kind: RequestKind
    /// When the request's line was read, in microseconds.
    package let readAt: UInt64
    /// The code of the request's `ERR` reply; nil for `OK`.
    package let code: UInt16?

    package init(verb: UInt8?, kind: RequestKind, readAt: UInt64, code: UInt16?) {
        self.verb = verb
        self.kind = kind
        self.readAt = readAt
        self.code = code
    }
}

/// The number of requests by verb and reply code, and the durations.
package struct RequestTally: Sendable {
    /// The reply codes of the protocol; any other code is counted as the last one.
    private static let codes: [UInt16] = [401, 403, 404, 409, 413, 429, 500, 503, 504, 400]
    private static let columns = codes.count + 1

    /// The counts: a row for each verb, the first for unknown verbs, with a column for `OK` and one
    /// for each code.
    private var counts: [UInt64] = []
    /// The time from the last byte of the line to the reply, in microseconds, by kind of request.
    private var durations = RequestKind.allCases.map { _ in Histogram(Histogram.durations) }

    /// - Parameter now: when the replies were sent, in microseconds.
    mutating func recordAnswers(_ answered: [AnsweredRequest], now: UInt64) {
        for request in answered {
            durations[request.kind.rawValue].record(now - min(now, request.readAt))
            let place = RequestTally.place(request)
            if place >= counts.count {
                let row = place / RequestTally.columns
                let missing = (row + 1) * RequestTally.columns - counts.count
                counts += Array(repeating: 0, count: missing)
            }
            counts[place] += 1
        }
    }

    private static func place(_ request: AnsweredRequest) -> Int {
        let row = request.verb.map { Int($0) + 1 } ?? 0
        guard let code = request.code else { return row * columns }
        return row * columns + 1 + (codes.firstIndex(of: code) ?? codes.count - 1)
    }

    package func durations(of kind: RequestKind) -> Histogram { durations[kind.rawValue] }

    /// The counts that are not 0, in the order of the verb table; unknown verbs come first.
    package var byVerb: [(verb: Int?, code: UInt16?, count: UInt64)] {
        counts.indices.filter { counts[$0] > 0 }.map { place in
            let (row, column) = place.quotientAndRemainder(dividingBy: RequestTally.columns)
            return (
                row == 0 ? nil : row - 1, column == 0 ? nil : RequestTally.codes[column - 1],
                counts[place]
            )
        }
    }
}
