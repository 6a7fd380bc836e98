import Chat
import LineProtocol
import Node
import Wire

/// The rights of a client that has signed in.
package enum SignedIn: Hashable, Sendable {
    /// The rights of an operator, who may act as any user.
    case asOperator
    ///
    /// - signIn: the sign-in for which the access token was issued; nil for an app's own token.
    case asUser(UserID, signIn: DeviceSignIn?)
}

/// The keys that admit clients to a node.
package protocol AuthKeys: AnyObject, Sendable {
    /// Returns the rights that a secret gives; nil for a wrong secret. The implementation remembers
    /// the session together with the key of its secret.
    func admission(by secret: String, as session: UInt64) -> SignedIn?
}

/// The condition on which a client's requests are answered.
package enum AuthPolicy: Sendable {
    /// No condition, on a node that has no key.
    case none
    /// No condition, but a client that presents a secret learns whether the secret is right.
    case open(any AuthKeys)
    /// The client must have presented the secret of a key.
    case closed(any AuthKeys)
    /// No condition: the client has already signed in elsewhere, as this user.
    case user(UserID, signIn: DeviceSignIn?)
}

/// The sign-in of one client.
struct SignIn: Sendable {
    /// The number of wrong secrets at which a client is disconnected: so many are no typing errors.
    static let wrongSecretsMax = 3
    /// The number of requests without a sign-in at which a client is disconnected.
    ///
    /// The limit is high enough for a script that omits `AUTH`.
    static let unheardMax = 100

    enum Verdict: Equatable {
        /// The node answers the request.
        case heard
        case told(LineError)
        /// The last reply to a client, whose connection is then closed.
        case turnedAway(LineError)
        case signedIn
    }

    /// Whether the client's requests are answered.
    private(set) var isDone: Bool
    /// The user as whom the client acts; nil for an operator.
    private(set) var user: UserID?
    /// The sign-in of `user`; devices that the client registers belong to this sign-in.
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
        // The events that the client watches belong to the first user.
        case .asUser(let other, _) where user.map { $0 != other } ?? false:
            return .told(.otherUser)
        case .asUser(let signedIn, let signIn): (user, ofUser) = (signedIn, signIn)
        }
        isDone = true
        return .signedIn
    }

    /// Returns the request with the client's identity inserted: a user's device belongs to the
    /// sign-in that registers the device, whatever the line specifies, and a new conversation to
    /// the account.
    func made(_ request: Request) -> Request {
        guard user != nil, case .write(let mutation, let isMinted, let times) = request else {
            return request
        }
        let made: Mutation
        switch mutation.key.kind {
        case .device:
            guard let register = mutation.action as? RegisterDevice else { return request }
            made = mutation.with(
                RegisterDevice(register.token, DeviceRegistration(signIn: ofUser)))
        case .conversation:
            guard let create = mutation.action as? CreateConversation else { return request }
            made = mutation.with(
                CreateConversation(
                    participants: create.participants, title: create.title, isByAccount: true))
        default: return request
        }
        return .write(made, isMinted: isMinted, times: times)
    }

    /// Handles a request other than `AUTH` from a client that has not signed in.
    mutating func onEarly(_ request: Request) -> Verdict {
        if case .help = request, unheard + 1 < SignIn.unheardMax {
            unheard += 1
            return .heard
        }
        return onNonsense(.signInFirst)
    }

    /// Handles a line that is no valid request; before the sign-in, the line counts as a request.
    ///
    /// After a line of HTTP the connection is always closed, even after the sign-in, so that a page
    /// in a browser cannot control the port.
    mutating func onNonsense(_ error: LineError) -> Verdict {
        guard error != .speaksHTTP else { return .turnedAway(error) }
        guard !isDone else { return .told(error) }
        unheard += 1
        return unheard < SignIn.unheardMax ? .told(error) : .turnedAway(error)
    }
}
