import LineProtocol

/// The keys that admit clients to a node.
package protocol AuthKeys: AnyObject, Sendable {
    /// Whether this is the secret of a key; the session is remembered with that key.
    func admits(_ secret: String, as session: UInt64) -> Bool
}

/// The condition on which a client's requests are answered.
package enum AuthPolicy: Sendable {
    /// None, and the node has no key.
    case none
    /// None; a client that presents a secret is told whether it is right.
    case open(any AuthKeys)
    /// The client has presented the secret of a key.
    case closed(any AuthKeys)
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

    /// The reply to a right secret.
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
