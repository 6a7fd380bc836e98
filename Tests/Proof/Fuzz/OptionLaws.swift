import LineProtocol
import NetworkIO
import Server

/// The laws of command-line words, which hold whatever a person types.
enum OptionLaws {
    static func check(_ input: [UInt8]) {
        let words = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        check(words)
        check(OptionLaws.enough + words)
        for word in words {
            if let address = SocketAddress(word) {
                precondition(
                    SocketAddress(address.description) == address, "an address is read as written")
            }
            if let duration = Duration(lineValue: word) {
                precondition(duration >= .zero, "no duration is negative")
            }
        }
    }

    /// The options without which a node cannot be started.
    private static let enough = [
        "--name", "n1", "--data", "d", "--gossip", "127.0.0.1:1", "--admin=127.0.0.1:2",
    ]

    private static func check(_ words: [String]) {
        do throws(UsageError) {
            let command = try NodeCommand(words)
            precondition(command.gossip.isLoopback, "an address beyond loopback needs a key")
        } catch {
            precondition(!error.sentence.isEmpty, "a refusal says why")
        }
    }
}
