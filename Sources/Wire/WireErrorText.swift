/// The sentences that describe invalid bytes in log lines.
extension WireError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncated: "they end too early"
        case .tooLong(let count, let limit): "\(count) of something, at most \(limit) are allowed"
        case .invalid(let what): "not \(what)"
        case .leftover(let count): "\(count) bytes are left over"
        case .checksum: "the checksum is wrong"
        case .version(let version): "version \(version) is not known"
        case .unknown: "their kind is not known"
        }
    }
}
