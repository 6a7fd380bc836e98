import NetworkIO
import Session
import TLS

/// The keys that clients sign in with, and the key that each session has signed in with.
final class ClientKeys: AuthKeys {
    private struct State: Sendable {
        var keys: KeyRing
        /// The key of each session that has signed in.
        var signedIn: [UInt64: Key] = [:]
    }

    private let state: Lock<State>
    private let onSignIn: @Sendable (UInt64) -> Void
    private let onRefusal: @Sendable (UInt64) -> Void

    /// - Parameters:
    ///   - onSignIn: called with a session that sent a right secret.
    ///   - onRefusal: called with a session that sent a wrong one, without the secret.
    init(
        _ keys: KeyRing, onSignIn: @escaping @Sendable (UInt64) -> Void,
        onRefusal: @escaping @Sendable (UInt64) -> Void
    ) {
        state = Lock(State(keys: keys))
        self.onSignIn = onSignIn
        self.onRefusal = onRefusal
    }

    func admits(_ secret: String, as session: UInt64) -> Bool {
        let isRight = state.withLock { state in
            guard let key = state.keys.key(saidBy: secret) else { return false }
            state.signedIn[session] = key
            return true
        }
        if isRight { onSignIn(session) } else { onRefusal(session) }
        return isRight
    }

    func onClosed(_ session: UInt64) {
        state.withLock { $0.signedIn[session] = nil }
    }

    /// Replaces the keys.
    ///
    /// - Returns: the sessions that signed in with a key that is not valid any more.
    func change(to keys: KeyRing) -> [UInt64] {
        state.withLock { state in
            state.keys = keys
            return state.signedIn.filter { !keys.contains($0.value) }.map(\.key).sorted()
        }
    }
}
