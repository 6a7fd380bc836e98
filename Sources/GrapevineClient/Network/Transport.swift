import Foundation

/// What a node has answered to a request.
struct Response: Equatable, Sendable {
    var status: Int
    var body: Data
    /// The seconds after which the request may be sent again, if the node says so.
    var retryAfter: Double?
    /// The token that stands for what the answer includes, if the node gives one.
    var token: String?
}

/// A request as it is sent to a node.
struct Call: Equatable, Sendable {
    var request: Request
    var accessToken: String?
    /// The identity and the time of a write.
    var operation: String?
    /// The tokens that the answer has to include; at most ``tokensMax``.
    var tokens: [String] = []

    /// The most tokens that a node takes with a request.
    static let tokensMax = 6
    /// The milliseconds within which the answer has to come.
    var patience: Int64
}

/// The network, as the client needs it.
///
/// Answers come by callbacks, so that a test needs no task and no thread; each callback is called
/// once, on the thread on which the client runs.
protocol Transport: AnyObject {
    /// Sends a request to a node.
    ///
    /// - Parameters:
    ///   - node: the number of the node.
    ///   - answer: gets nil if no answer came: whether the node has executed the request is not
    ///     known then.
    func send(_ call: Call, to node: Int, answer: @escaping (Response?) -> Void)

    /// Opens an event stream of a node, and closes the one before.
    ///
    /// - Parameters:
    ///   - call: the request of the stream.
    ///   - stream: the number of the stream, which callbacks hand back.
    func open(_ call: Call, at node: Int, stream: Int, events: @escaping (StreamEvent) -> Void)

    /// Closes the event stream, if there is one.
    func close()
}

/// What happens to an event stream.
enum StreamEvent: Equatable, Sendable {
    /// The node has accepted the stream, or has not: then the stream has ended.
    case answered(status: Int)
    /// The node has sent events.
    case events([EventStreamReader.Event])
    /// The stream has ended, whether the node says so or not.
    case ended
}
