import Gateway
import Node
import Session

extension AppPort: AccountHost {
    nonisolated func openSession(replyingTo output: any SessionOutput) -> Session {
        open(output, as: .none)
    }

    nonisolated func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    nonisolated func start(
        _ work: PasswordWork, from address: String,
        onDone: @escaping @Sendable (PasswordWork.Result?) -> Void
    ) {
        passwordThread.start(from: address, { work.run() }, onDone: onDone)
    }

    nonisolated func takeSigningNews() -> SigningNews? {
        assumeIsolated { port in port.node?.assumeIsolated { $0.takeSigningNews() } ?? nil }
    }

    nonisolated var makesFirstKey: Bool {
        assumeIsolated { port in port.node?.assumeIsolated { $0.makesFirstKey } ?? false }
    }

    nonisolated func onKeysChanged() {
        assumeIsolated { port in
            for client in port.clients.values {
                client.requests.assumeIsolated { $0.onKeysChanged() }
            }
            let keys = port.currentKeys
            port.host?.assumeIsolated { $0.onTokensChanged(to: keys) }
        }
    }

    nonisolated func log(_ line: String) {
        assumeIsolated { $0.host?.log(.info, line) }
    }
}
