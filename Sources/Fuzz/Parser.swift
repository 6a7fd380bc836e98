/// What reads bytes that nobody has checked, and what must hold whatever they are.
///
/// A law that does not hold traps: that is what a fuzzer looks for.
package enum Parser: String, CaseIterable, Sendable {
    /// Lines of clients.
    case line
    /// Frames between nodes.
    case frame
    /// Documents and what else is stored.
    case record
    /// Words of the command line, and addresses, times and options in them.
    case option
    /// Frames of a member, in a running node.
    case peer

    /// The most bytes that are looked at: enough for every limit that is not a mere length.
    package static let inputBytesMax = 8 << 10

    package func check(_ input: [UInt8]) {
        let input = Array(input.prefix(Parser.inputBytesMax))
        switch self {
        case .line: LineLaws.check(input)
        case .frame: FrameLaws.check(input)
        case .record: RecordLaws.check(input)
        case .option: OptionLaws.check(input)
        case .peer: PeerLaws.check(input)
        }
    }
}
