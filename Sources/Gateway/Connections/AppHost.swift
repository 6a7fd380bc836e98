import Chat
import LineProtocol
import Session
import Wire

/// The surroundings of the connections to the port for apps.
package protocol AppHost: AnyObject, Sendable {
    /// Opens a session.
    ///
    /// - Parameters:
    ///   - user: as whom it acts, whatever its requests say.
    ///   - signIn: the sign-in to which devices belong that it registers; nil for none.
    ///   - output: what its replies are written to.
    func openSession(
        of user: UserID, signIn: DeviceSignIn?, replyingTo output: any SessionOutput
    ) -> Session
    func closeSession(_ session: Session)
    /// Executes a request with the rights of an operator, and ignores its response.
    func execute(_ request: Request)
    /// Has `AppConnection.onTurn` called at the end of this turn of the loop or a later one.
    func askForTurn(of connection: UInt64)
    /// Whether this turn of the loop has time left for what clients send.
    var hasTimeToRead: Bool { get }
    /// Notes the time that was used for what a client sent, in microseconds.
    func subtract(used: UInt64)
    /// Notes that the client of a connection has signed in.
    ///
    /// - Parameters:
    ///   - user: nil where they have shown no access token yet.
    ///   - address: that of the client, as limits count it.
    func onSignIn(_ connection: UInt64, as user: UserID?, from address: String)
    /// Gives a connection its time to sign in anew: it is sent a web page, which is followed by
    /// others, or the accounts judge its request.
    func renewArrival(of connection: UInt64)
    /// Takes a place for a part of a connection's upload; false where it waits for one, with a turn
    /// to follow.
    func takePartPlace(for connection: UInt64) -> Bool
    /// Gives places back.
    func giveBack(partPlaces count: Int)
    /// Notes that an upload begins on a connection; throws 429 where too much of its user's is
    /// under way.
    ///
    /// - Parameter promised: what its head promises, in bytes; nil where it does not say.
    func beginUpload(
        on connection: UInt64, by user: UserID, promised: UInt64?
    ) throws(LineError)
    /// Notes that a connection's upload has ended.
    func endUpload(of connection: UInt64)
    /// Counts a request of a user; false where they have sent too many of late.
    func admits(_ user: UserID) -> Bool
    /// Counts a request from an address; false where too many have come from there of late.
    func admits(from address: String) -> Bool
    /// Throws 429 where a user uploads more than they may in a day.
    ///
    /// - Parameter isCounted: whether the bytes have arrived, and count from now on.
    func checkUpload(of bytes: Int, by user: UserID, counted isCounted: Bool) throws(LineError)
    /// Has an answer compressed beside the loop.
    ///
    /// - Parameters:
    ///   - source: whose answer it is.
    ///   - work: returns its compressed form, on another thread.
    ///   - onDone: called on the loop's thread; nil where it is to be sent as it is.
    func compress(
        of source: String, _ work: @escaping @Sendable () -> [UInt8]?,
        onDone: @escaping @Sendable ([UInt8]?) -> Void)
    /// The present time as an answer has it.
    var httpDate: String { get }
    /// Makes an id that no other thing has.
    func makeID() -> String
    /// The keys of access tokens; nil where nobody can sign in.
    var keys: KeySet? { get }
    /// The cluster's own accounts; nil where users sign in with an app's tokens, or nobody does.
    var accounts: Accounts? { get }
    /// The key with which browsers subscribe to pushes, in base64url; nil where none are sent.
    var pushKey: String? { get }
    /// Whether a proxy names the clients' addresses.
    var isBehindProxy: Bool { get }
    /// Whether connections are encrypted up to this node.
    var isEncrypted: Bool { get }
    /// The web pages of this port.
    var pages: WebPages { get }
    /// The origins whose pages may send requests beside the nodes' own, such as
    /// `https://shop.example.org`.
    var origins: Set<String> { get }
}
