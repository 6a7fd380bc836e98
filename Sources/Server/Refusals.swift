import NetworkIO

/// The refused connections that were logged: each peer once for each reason, until it succeeds.
struct Refusals: Sendable {
    /// The most refusals that are remembered; the oldest is dropped, and may be logged again.
    static let rememberedMax = 1_024
    /// The most refusals logged in a second: an attacker may use any number of addresses.
    static let perSecondMax = 10

    private struct Refusal: Hashable {
        let peer: String
        let why: HandshakeError
    }

    /// In the order in which they were recorded.
    private var noted: [Refusal] = []
    private var second: UInt64 = 0
    private var inSecond = 0

    /// Records a refusal, and returns whether to log it.
    ///
    /// - Parameter peer: the address that was dialled, or the host that dialled, since its port is
    ///   another one each time.
    mutating func onRefusal(of peer: String, because why: HandshakeError, now: UInt64) -> Bool {
        let refusal = Refusal(peer: peer, why: why)
        guard !noted.contains(refusal) else { return false }
        if now / 1_000 != second { (second, inSecond) = (now / 1_000, 0) }
        guard inSecond < Refusals.perSecondMax else { return false }
        inSecond += 1
        noted.append(refusal)
        if noted.count > Refusals.rememberedMax { noted.removeFirst() }
        return true
    }

    mutating func onSuccess(of peer: String) { noted.removeAll { $0.peer == peer } }
}

extension HandshakeError {
    /// The advice to the operator.
    var advice: String {
        switch self {
        case .plainText, .noKey: "a node of this cluster is started with its --key-file"
        case .wrongKey: "give every node the same --key-file; while it changes, both keys in each"
        case .hungUp:
            "if it is a node, is its key in this one's --key-file, and the other way round?"
        case .late: "if it is a node, it is overloaded or the network loses packets"
        case .tooMuch, .unreadable: "if it is a node, something on the way changes its bytes"
        }
    }
}
