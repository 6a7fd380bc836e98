import Chat
import LineProtocol
import Session
import Wire

/// The services that the program provides to the connections which it accepts on the port for apps.
package protocol AppHost: AnyObject, Sendable {
    /// Opens a session for the requests of a user.
    ///
    /// - Parameters:
    ///   - user: the user with whose rights the session executes requests, even if a request names
    ///     another user.
    ///   - signIn: the sign-in that owns the devices which the session registers; nil for none.
    ///   - output: the receiver of the session's responses.
    func openSession(
        of user: UserID, signIn: DeviceSignIn?, replyingTo output: any SessionOutput
    ) -> Session
    func closeSession(_ session: Session)
    /// Executes a request with the rights of an operator, and ignores its response.
    func execute(_ request: Request)
    /// Schedules a call of `AppConnection.onTurn` at the end of this event-loop iteration, or of a
    /// later one if this iteration has no time left.
    func askForTurn(of connection: UInt64)
    /// Whether this event-loop iteration has time left to process the input of clients.
    var hasTimeToRead: Bool { get }
    /// Subtracts the microseconds that a client's input took from this iteration's time for input.
    func subtract(used: UInt64)
    /// Records the user and the address of a connection's client, and ends the time limit for the
    /// client's sign-in.
    ///
    /// It is called when a new access token is verified, or an account request has succeeded.
    ///
    /// - Parameters:
    ///   - user: the user of the access token; nil for an account request without one.
    ///   - address: the address of the client, normalised for rate limits.
    func onSignIn(_ connection: UInt64, as user: UserID?, from address: String)
    /// Restarts the time limit for the sign-in of a connection's client; called when the client
    /// loads a web page, or when the account actor begins to handle its request.
    func renewArrival(of connection: UInt64)
    /// Takes one of the permits that limit how many parts of files are stored at once.
    ///
    /// - Returns: false if no permit is free; then `onTurn` of the connection is called once a
    ///   permit is reserved for the connection.
    func takePartPlace(for connection: UInt64) -> Bool
    /// Gives back permits to store a part of a file, so that waiting uploads get them.
    func giveBack(partPlaces count: Int)
    /// Records that an upload begins on a connection; throws 429 if the user's unfinished uploads
    /// have too many bytes in all.
    ///
    /// - Parameter promised: the upload's size by `Content-Length`, in bytes; nil if that is
    ///   missing.
    func beginUpload(
        on connection: UInt64, by user: UserID, promised: UInt64?
    ) throws(LineError)
    /// Records that a connection's upload has ended.
    func endUpload(of connection: UInt64)
    /// Counts a request of a user; false if the user exceeds the rate limit.
    func admits(_ user: UserID) -> Bool
    /// Counts a request from an address; false if the address exceeds the rate limit.
    func admits(from address: String) -> Bool
    /// Checks a user's daily limit of uploaded bytes; throws 429 if the upload would exceed it.
    ///
    /// - Parameter isCounted: whether the bytes have arrived and are added to the user's sum of the
    ///   day.
    func checkUpload(of bytes: Int, by user: UserID, counted isCounted: Bool) throws(LineError)
    /// Compresses an HTTP response body on a worker thread, which serves the clients in turn.
    ///
    /// - Parameters:
    ///   - source: the client that gets the response: the name of its user, or its network address
    ///     if it has no verified access token.
    ///   - work: returns the compressed body, or nil; called on the worker thread.
    ///   - onDone: called on the event loop's thread with the compressed body; or with nil, so that
    ///     the body is sent uncompressed, if `work` has returned nil, or if it was not called, for
    ///     example because the worker thread's queue is full.
    func compress(
        of source: String, _ work: @escaping @Sendable () -> [UInt8]?,
        onDone: @escaping @Sendable ([UInt8]?) -> Void)
    /// The current time as the value of the header field `Date`.
    var httpDate: String { get }
    /// Returns a new unique ID, such as for a message.
    func makeID() -> String
    /// The keys that verify access tokens; nil if nobody can sign in to this node.
    var keys: KeySet? { get }
    /// The service for the cluster's own accounts; nil if users sign in with access tokens of an
    /// app, or if no user can sign in.
    var accounts: Accounts? { get }
    /// The public VAPID key, which browsers need to subscribe to Web Push; nil if this cluster
    /// pushes nothing.
    var pushKey: String? { get }
    /// Whether a proxy gives the clients' addresses in `X-Forwarded-For`.
    var isBehindProxy: Bool { get }
    /// Whether this node terminates TLS itself.
    var isEncrypted: Bool { get }
    /// The web pages that this node serves on the port for apps.
    var pages: WebPages { get }
    /// The web origins, other than the nodes' own, whose pages may send requests, such as
    /// `https://shop.example.org`.
    var origins: Set<String> { get }
}
