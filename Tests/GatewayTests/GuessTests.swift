import CRDT
import LineProtocol
import Node
import Session
import Testing
import Wire

@testable import Chat
@testable import Gateway

/// A host of accounts that answers nothing.
private final class SilentHost: AccountHost {
    func openSession(replyingTo output: any SessionOutput) -> Session {
        preconditionFailure("a guess alone asks the node nothing")
    }
    func closeSession(_ session: Session) {}
    func randomBytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }
    func start(
        _ work: PasswordWork, from address: String,
        onDone: @escaping @Sendable (PasswordWork.Result?) -> Void
    ) { onDone(nil) }
    func takeSigningNews() -> SigningNews? { nil }
    var makesFirstKey: Bool { false }
    func onKeysChanged() {}
    func log(_ line: String) {}
}

extension Accounts {
    /// Makes one guess, and returns the code of its error, or of the answer to a wrong password.
    func codeOfGuess(
        _ found: Result<AccountView?, LineError>, from address: String = "192.0.2.1",
        by signIn: DeviceSignIn? = nil
    ) async -> Int {
        do throws(LineError) {
            let source = AttemptSource(address: address, signIn: signIn)
            let account = try await guess(of: "a1", from: source) {
                () async throws(LineError) in try found.get()
            }
            return account == nil ? 401 : 200
        } catch {
            return error.code
        }
    }
}

@Suite struct GuessTests {
    private let clock = FakeClock()
    private let accounts: Accounts

    init() {
        accounts = Accounts(
            host: SilentHost(), isSignUpOpen: true, clock: clock, executor: InlineExecutor())
    }

    private func codes(_ count: Int, _ found: Result<AccountView?, LineError>) async -> [Int] {
        var codes: [Int] = []
        for _ in 0..<count { codes.append(await accounts.codeOfGuess(found)) }
        return codes
    }

    private func signIn(_ address: String, _ id: String, _ bits: UInt64) -> DeviceSignIn {
        DeviceSignIn(
            address: AddressID(checked: address), id: SignInID(checked: id),
            began: HybridTimestamp(bits: bits))
    }

    private func account() -> AccountView {
        AccountView(
            address: AddressID(checked: "a1"), user: UserID(checked: "u1"), email: "a@b",
            password: "h", createdAt: .zero, isDisabled: false, signedInAt: .zero, signInsCount: 0)
    }

    /// Has strangers guess until the account's password is tried no more from where it is unknown.
    private func attack() async {
        for number in 0..<250 {
            _ = await accounts.codeOfGuess(.success(nil), from: "198.51.100.\(number)")
        }
        #expect(await accounts.codeOfGuess(.success(nil), from: "203.0.113.1") == 429)
    }

    @Test func `strangers keep nobody out who has signed in from an address before`() async throws {
        let found = Result<AccountView?, LineError>.success(account())
        #expect(await codes(1, found) == [200])
        await attack()
        #expect(await codes(1, found) == [200])
        #expect(await codes(6, .success(nil)) == [401, 401, 401, 401, 401, 429])
    }

    @Test func `strangers keep no device out that has signed in before, wherever it is`()
        async throws
    {
        let found = Result<AccountView?, LineError>.success(account())
        await attack()
        let mine = signIn("a1", "s1", 1)
        let others = signIn("a2", "s2", 1)
        #expect(await accounts.codeOfGuess(found, from: "203.0.113.1", by: others) == 429)
        #expect(await accounts.codeOfGuess(found, from: "203.0.113.1", by: mine) == 200)
        for _ in 0..<5 {
            #expect(await accounts.codeOfGuess(.success(nil), from: "203.0.113.2", by: mine) == 401)
        }
        #expect(await accounts.codeOfGuess(found, from: "203.0.113.2", by: mine) == 429)
    }

    private let busy = LineError(503, "Too many sign-ins wait on this node; try again")

    @Test func `a guess at which no password was compared leads to no long pause`() async throws {
        #expect(await codes(6, .failure(busy)) == [503, 503, 503, 503, 503, 429])
        for _ in 0..<100 {
            clock.milliseconds += AttemptLimiter.shortPause
            #expect(await codes(2, .failure(busy)) == [503, 429])
        }
        clock.milliseconds += AttemptLimiter.shortPause
        let account = account()
        #expect(await codes(2, .success(account)) == [200, 200])
        #expect(await codes(6, .success(nil)) == [401, 401, 401, 401, 401, 429])
    }

    @Test func `a wrong password after many such guesses leads to a long one`() async {
        _ = await codes(6, .failure(busy))
        clock.milliseconds += AttemptLimiter.shortPause
        #expect(await codes(2, .success(nil)) == [401, 429])
        clock.milliseconds += AttemptLimiter.shortPause
        #expect(await codes(1, .failure(busy)) == [429])
    }

    @Test func `such guesses do not count for the account or the address`() async {
        for _ in 0..<300 {
            _ = await codes(1, .failure(busy))
            clock.milliseconds += AttemptLimiter.shortPause
        }
        let other = await accounts.codeOfGuess(.success(nil), from: "192.0.2.2")
        #expect(other == 401)
    }
}
