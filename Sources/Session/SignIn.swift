import LineProtocol

/// Who knows the keys that open a node to its clients.
package protocol AuthKeys: AnyObject, Sendable {
    /// Whether this is the secret of a key; the session that said it is remembered.
    func admits(_ secret: String, as session: UInt64) -> Bool
}

/// What a client has to say before it is heard.
package enum AuthPolicy: Sendable {
    /// Nothing, and the node has no key.
    case none
    /// Nothing; who says a secret hears whether it is right.
    case open(any AuthKeys)
    /// The secret of a key.
    case closed(any AuthKeys)
}

/// How far one client has come with its sign-in.
struct SignIn: Sendable {
    /// How many wrong secrets a client may say; nobody mistypes more often.
    static let wrongSecretsMax = 3
    /// How many requests a client may make before it signs in: enough for a script that forgot to.
    static let unheardMax = 100

    enum Verdict: Equatable {
        /// The request is answered as any.
        case heard
        case told(LineError)
        /// The last that the client is told.
        case turnedAway(LineError)
        case signedIn
    }

    /// What a right secret is answered.
    static let welcome = Array("OK\n".utf8)

    /// Whether requests are answered.
    private(set) var isDone: Bool
    private let doorkeeper: (any AuthKeys)?
    private var wrongSecrets = 0
    private var unheard = 0

    init(_ authPolicy: AuthPolicy) {
        switch authPolicy {
        case .none: (isDone, doorkeeper) = (true, nil)
        case .open(let it): (isDone, doorkeeper) = (true, it)
        case .closed(let it): (isDone, doorkeeper) = (false, it)
        }
    }

    mutating func onSecret(_ secret: Secret, of session: UInt64) -> Verdict {
        guard let doorkeeper else { return .told(.nodeHasNoKey) }
        guard doorkeeper.admits(secret.text, as: session) else {
            wrongSecrets += 1
            return wrongSecrets < SignIn.wrongSecretsMax
                ? .told(.wrongSecret) : .turnedAway(.wrongSecret)
        }
        isDone = true
        return .signedIn
    }

    /// A request other than `AUTH` by who has not signed in.
    mutating func onEarly(_ request: Request) -> Verdict {
        if case .help = request, unheard + 1 < SignIn.unheardMax {
            unheard += 1
            return .heard
        }
        return onNonsense(.signInFirst)
    }

    /// What is no request counts as one, as long as nobody has signed in.
    ///
    /// A browser is never heard, signed in or not: a page in it must not control the port.
    mutating func onNonsense(_ error: LineError) -> Verdict {
        guard error != .speaksHTTP else { return .turnedAway(error) }
        guard !isDone else { return .told(error) }
        unheard += 1
        return unheard < SignIn.unheardMax ? .told(error) : .turnedAway(error)
    }
}
