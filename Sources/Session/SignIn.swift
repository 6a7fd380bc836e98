import Chat
import LineProtocol
import Node
import Wire

/// The rights of a client that has signed in.
package enum SignedIn: Hashable, Sendable {
    /// Those of an operator, who may act as any user.
    case asOperator
    ///
    /// - signIn: the one that the access token was issued for; nil for a token of an app's own.
    case asUser(UserID, signIn: DeviceSignIn?)
}

/// The keys that admit clients to a node.
package protocol AuthKeys: AnyObject, Sendable {
    /// Returns the rights that a secret gives, or nil for a wrong one; the session is remembered
    /// with its key.
    func admission(by secret: String, as session: UInt64) -> SignedIn?
}

/// The condition on which a client's requests are answered.
package enum AuthPolicy: Sendable {
    /// None, and the node has no key.
    case none
    /// None; a client that presents a secret is told whether it is right.
    case open(any AuthKeys)
    /// The client has presented the secret of a key.
    case closed(any AuthKeys)
    /// The client has signed in elsewhere, as this user.
    case user(UserID, signIn: DeviceSignIn?)
}

/// The sign-in of one client.
struct SignIn: Sendable {
    /// The most wrong secrets that a client may present; more are no typing errors.
    static let wrongSecretsMax = 3
    /// The most requests that a client may make before it signs in: enough for a script without
    /// `AUTH`.
    static let unheardMax = 100

    enum Verdict: Equatable {
        /// The request is answered like any other.
        case heard
        case told(LineError)
        /// The last reply to the client, whose connection is then closed.
        case turnedAway(LineError)
        case signedIn
    }

    /// Whether requests are answered.
    private(set) var isDone: Bool
    /// The user as whom the client acts; nil for an operator.
    private(set) var user: UserID?
    /// The sign-in of that user, to which the devices belong that they register.
    private var ofUser: DeviceSignIn?
    var clientKind: ClientKind {
        user == nil ? .operator : ofUser == nil ? .appUser : .accountUser
    }
    private let keys: (any AuthKeys)?
    private var wrongSecrets = 0
    private var unheard = 0

    init(_ authPolicy: AuthPolicy) {
        switch authPolicy {
        case .none: (isDone, keys) = (true, nil)
        case .open(let it): (isDone, keys) = (true, it)
        case .closed(let it): (isDone, keys) = (false, it)
        case .user(let user, let signIn):
            (isDone, keys) = (true, nil)
            self.user = user
            ofUser = signIn
        }
    }

    mutating func onSecret(_ secret: Secret, of session: UInt64) -> Verdict {
        guard let keys else { return .told(.nodeHasNoKey) }
        guard let signedIn = keys.admission(by: secret.text, as: session) else {
            wrongSecrets += 1
            return wrongSecrets < SignIn.wrongSecretsMax
                ? .told(.wrongSecret) : .turnedAway(.wrongSecret)
        }
        switch signedIn {
        case .asOperator: user = nil
        // What it watches belongs to the user so far.
        case .asUser(let other, _) where user.map { $0 != other } ?? false:
            return .told(.otherUser)
        case .asUser(let signedIn, let signIn): (user, ofUser) = (signedIn, signIn)
        }
        isDone = true
        return .signedIn
    }

    /// Returns the request as it is made by this sign-in: a user's device belongs to the sign-in
    /// that registers it, whatever the line says, and a conversation to the account.
    func made(_ request: Request) -> Request {
        guard user != nil, case .write(let mutation, let isMinted) = request else {
            return request
        }
        let action: any DocumentAction
        switch mutation.key.kind {
        case .device:
            guard let register = mutation.action as? RegisterDevice else { return request }
            action = RegisterDevice(register.token, DeviceRegistration(signIn: ofUser))
        case .conversation:
            guard let create = mutation.action as? CreateConversation else { return request }
            action = CreateConversation(
                participants: create.participants, title: create.title, isByAccount: true)
        default: return request
        }
        return .write(Mutation(action, at: mutation.key, by: mutation.user), isMinted: isMinted)
    }

    /// Handles a request other than `AUTH` from a client that has not signed in.
    mutating func onEarly(_ request: Request) -> Verdict {
        if case .help = request, unheard + 1 < SignIn.unheardMax {
            unheard += 1
            return .heard
        }
        return onNonsense(.signInFirst)
    }

    /// Handles a line that is no request; until the client has signed in, it counts as one.
    ///
    /// A line of HTTP is always the last, signed in or not: a page in a browser must not control
    /// the port.
    mutating func onNonsense(_ error: LineError) -> Verdict {
        guard error != .speaksHTTP else { return .turnedAway(error) }
        guard !isDone else { return .told(error) }
        unheard += 1
        return unheard < SignIn.unheardMax ? .told(error) : .turnedAway(error)
    }
}
