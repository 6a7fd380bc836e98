import Chat
import LineProtocol
import Session
import Wire

/// The services that the connections to the port for apps need from their host.
package protocol AppHost: AnyObject, Sendable {
    /// Opens a session for the requests of a user.
    ///
    /// - Parameters:
    ///   - user: the user as whom the session acts, whichever user its requests name.
    ///   - signIn: the sign-in that owns the devices which the session registers; nil for none.
    ///   - output: the receiver of the session's responses.
    func openSession(
        of user: UserID, signIn: DeviceSignIn?, replyingTo output: any SessionOutput
    ) -> Session
    func closeSession(_ session: Session)
    /// Executes a request with the rights of an operator, and ignores its response.
    func execute(_ request: Request)
    /// Schedules a call of `AppConnection.onTurn` at the end of this event-loop turn or a later
    /// one.
    func askForTurn(of connection: UInt64)
    /// Whether this event-loop turn has time left to process the input of clients.
    var hasTimeToRead: Bool { get }
    /// Subtracts the time used for a client's input from that of this turn, in microseconds.
    func subtract(used: UInt64)
    /// Records that the client of a connection has signed in.
    ///
    /// - Parameters:
    ///   - user: the user of the access token; nil if the client has sent no token yet.
    ///   - address: the address of the client, normalised for rate limits.
    func onSignIn(_ connection: UInt64, as user: UserID?, from address: String)
    /// Restarts a connection's time limit for signing in, when the client gets a web page, which
    /// further requests follow, or when `Accounts` handles its request.
    func renewArrival(of connection: UInt64)
    /// Takes a slot for storing a part of a connection's upload; false if none is free: the
    /// connection then gets a turn once a slot is reserved for it.
    func takePartPlace(for connection: UInt64) -> Bool
    /// Releases slots for storing parts of files.
    func giveBack(partPlaces count: Int)
    /// Records that an upload begins on a connection; throws 429 if the user has too many bytes of
    /// uploads under way.
    ///
    /// - Parameter promised: the `Content-Length`, in bytes; nil if there is none.
    func beginUpload(
        on connection: UInt64, by user: UserID, promised: UInt64?
    ) throws(LineError)
    /// Records that a connection's upload has ended.
    func endUpload(of connection: UInt64)
    /// Counts a request of a user; false if the user exceeds the rate limit.
    func admits(_ user: UserID) -> Bool
    /// Counts a request from an address; false if the address exceeds the rate limit.
    func admits(from address: String) -> Bool
    /// Checks a user's daily limit of uploaded bytes; throws 429 if it would be exceeded.
    ///
    /// - Parameter isCounted: whether the bytes have arrived and are added to the day's sum.
    func checkUpload(of bytes: Int, by user: UserID, counted isCounted: Bool) throws(LineError)
    /// Compresses an answer on another thread.
    ///
    /// - Parameters:
    ///   - source: the user or the client address that gets the answer.
    ///   - work: returns the compressed answer; called on the other thread.
    ///   - onDone: called on the event loop's thread; with nil if the answer is sent uncompressed.
    func compress(
        of source: String, _ work: @escaping @Sendable () -> [UInt8]?,
        onDone: @escaping @Sendable ([UInt8]?) -> Void)
    /// The current time as the value of the header field `Date`.
    var httpDate: String { get }
    /// Returns a new unique ID.
    func makeID() -> String
    /// The keys of access tokens; nil where nobody can sign in.
    var keys: KeySet? { get }
    /// The cluster's own accounts; nil where users sign in with an app's tokens, or nobody does.
    var accounts: Accounts? { get }
    /// The public VAPID key with which browsers subscribe, in base64url; nil if nothing is pushed.
    var pushKey: String? { get }
    /// Whether a proxy gives the clients' addresses in `X-Forwarded-For`.
    var isBehindProxy: Bool { get }
    /// Whether this node terminates TLS itself.
    var isEncrypted: Bool { get }
    /// The web pages of this port.
    var pages: WebPages { get }
    /// The allowed origins of pages beside the nodes' own, such as `https://shop.example.org`.
    var origins: Set<String> { get }
}
