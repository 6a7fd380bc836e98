import Chat
import Gateway
import LineProtocol
import NetworkIO
import Session
import TLS

/// The keys that clients sign in with, and what each session has signed in with.
final class ClientKeys: AuthKeys {
    private struct State: Sendable {
        /// Those of operators.
        var keys: KeyRing?
        /// Those of users' access tokens; nil where only operators sign in.
        var tokens: KeySet?
        /// The key of each operator's session.
        var operators: [UInt64: Key] = [:]
        /// The access token of each user's session.
        var users: [UInt64: (token: String, access: AccessToken)] = [:]
    }

    private let state: Lock<State>
    private let now: @Sendable () -> Int64
    private let onSignIn: @Sendable (UInt64) -> Void
    private let onRefusal: @Sendable (UInt64) -> Void

    /// - Parameters:
    ///   - tokens: the keys of access tokens; nil where only operators sign in.
    ///   - now: milliseconds since 1970.
    ///   - onSignIn: called with a session that sent a right secret.
    ///   - onRefusal: called with a session that sent a wrong one, without the secret.
    init(
        _ keys: KeyRing?, tokens: KeySet? = nil, now: @escaping @Sendable () -> Int64,
        onSignIn: @escaping @Sendable (UInt64) -> Void,
        onRefusal: @escaping @Sendable (UInt64) -> Void
    ) {
        state = Lock(State(keys: keys, tokens: tokens))
        self.now = now
        self.onSignIn = onSignIn
        self.onRefusal = onRefusal
    }

    func admission(by secret: String, as session: UInt64) -> SignedIn? {
        let now = now()
        let signedIn: SignedIn? = state.withLock { state in
            if let key = state.keys?.key(saidBy: secret) {
                state.operators[session] = key
                state.users[session] = nil
                return .asOperator
            }
            guard let tokens = state.tokens else { return nil }
            do throws(LineError) {
                let access = try AccessToken(secret, signedBy: tokens, now: now)
                // Of two users the first stays, and so does what limits the session.
                if let first = state.users[session], first.access.user != access.user {
                    return .asUser(access.user, signIn: nil)
                }
                state.users[session] = (secret, access)
                return .asUser(access.user, signIn: access.signIn)
            } catch {
                return nil
            }
        }
        if signedIn != nil { onSignIn(session) } else { onRefusal(session) }
        return signedIn
    }

    /// Returns the sessions whose access token has expired.
    func takeExpired() -> [UInt64] {
        let now = now()
        return state.withLock { state in
            let expired = state.users.filter { $0.value.access.expiresAt <= now }.map(\.key)
                .sorted()
            for session in expired { state.users[session] = nil }
            return expired
        }
    }

    func onClosed(_ session: UInt64) {
        state.withLock {
            $0.operators[session] = nil
            $0.users[session] = nil
        }
    }

    /// Replaces the keys of operators.
    ///
    /// - Returns: the sessions that signed in with a key that is not valid any more.
    func change(to keys: KeyRing?) -> [UInt64] {
        state.withLock { state in
            state.keys = keys
            return state.operators.filter { !(keys?.contains($0.value) ?? false) }.map(\.key)
                .sorted()
        }
    }

    /// Replaces the keys of users' access tokens.
    ///
    /// - Returns: the sessions whose token is not accepted any more.
    func change(toTokens tokens: KeySet?) -> [UInt64] {
        state.withLock { state in
            state.tokens = tokens
            return state.users.filter { !$0.value.access.isValid($0.value.token, tokens) }
                .map(\.key).sorted()
        }
    }
}
