/// The parsers of unchecked bytes, each with laws that hold for any input.
///
/// A law that does not hold traps, which is what a fuzzer looks for.
package enum Parser: String, CaseIterable, Sendable {
    /// The lines of clients.
    case line
    /// The frames between nodes.
    case frame
    /// The documents and other values that are stored.
    case record
    /// The words of the command line, with the addresses, times and options in them.
    case option
    /// The frames of a member, received by a running node.
    case peer
    /// The requests of clients of the port for apps.
    case http
    /// The frames of their WebSockets.
    case webSocket = "websocket"

    /// The limit of input bytes: enough for every limit that is not a mere length.
    package static let inputBytesMax = 8 << 10

    package func check(_ input: [UInt8]) {
        let input = Array(input.prefix(Parser.inputBytesMax))
        switch self {
        case .line: LineLaws.check(input)
        case .frame: FrameLaws.check(input)
        case .record: RecordLaws.check(input)
        case .option: OptionLaws.check(input)
        case .peer: PeerLaws.check(input)
        case .http: HTTPLaws.check(requests: input)
        case .webSocket: HTTPLaws.check(frames: input)
        }
    }
}
