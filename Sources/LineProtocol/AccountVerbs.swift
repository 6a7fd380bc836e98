import CRDT
import Chat
import Wire

/// The verbs with which nodes maintain, and operators inspect, the accounts of the port for apps.
///
/// A node checks a user's password before it writes a sign-in. The accounts store only digests of
/// passwords and of refresh tokens.
extension Verb {
    static let accounts: [Verb] = ofAccounts + ofSignIns + ofKeys

    private static let address = "<address>"

    private static let ofAccounts: [Verb] = [
        Verb(
            "ACCOUNTS", .reads, optional: [address], options: [.after],
            example: "ACCOUNTS a1",
            about: "Lists the accounts of an e-mail address, of which the digest is given; the "
                + "first is the one that the address finds. Without an address it lists the "
                + "accounts of the first addresses, or of those after one."
        ) { words throws(LineError) in
            let last = try words.name(.after, as: AddressID.self)
            guard let address: AddressID = try words.optionalName(0) else {
                return .read(AllAccountsQuery(after: last), of: Mutation.cluster)
            }
            guard last == nil else { throw words.refusedOption("after= is for all addresses") }
            return .read(AccountsQuery(address), of: Mutation.cluster)
        },
        Verb(
            "ACCOUNT ADD", .writes, [address, "<account>"], options: [.address, .password],
            example: "ACCOUNT ADD a1 carol email=carol@example.org "
                + "password=$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA",
            about: "Signs an e-mail address up, for a user whom nobody else is."
        ) { words throws(LineError) in
            let email = FieldText(try words.field(.address) ?? "")
            return try words.account(
                SignUp(email: email, password: FieldText(try words.field(.password) ?? "")))
        },
        Verb(
            "ACCOUNT PASSWORD", .writes, [address, "<account>"], options: [.password],
            example: "ACCOUNT PASSWORD a1 carol password=$argon2id$v=19$m=19456,t=2,p=1$cw$aA",
            about: "Changes the password of an account, and ends all its sign-ins."
        ) { words throws(LineError) in
            try words.account(SetPassword(FieldText(try words.field(.password) ?? "")))
        },
        Verb(
            "ACCOUNT DISABLE", .writes, [address, "<account>"],
            example: "ACCOUNT DISABLE a1 carol",
            about: "Ends all sign-ins of an account, and lets nobody sign in to it."
        ) { words throws(LineError) in try words.account(SetAccountDisabled(true)) },
        Verb(
            "ACCOUNT ENABLE", .writes, [address, "<account>"],
            example: "ACCOUNT ENABLE a1 carol",
            about: "Lets the user of a disabled account sign in again."
        ) { words throws(LineError) in try words.account(SetAccountDisabled(false)) },
        Verb(
            "ACCOUNT REMOVE", .writes, [address, "<account>"],
            example: "ACCOUNT REMOVE a1 carol",
            about: "Removes an account from its address, with its password and sign-ins."
        ) { words throws(LineError) in try words.account(RemoveAccount()) },
    ]

    private static let ofSignIns: [Verb] = [
        Verb(
            "SIGNIN ADD", .writes, [address, "<account>", "<signin>"],
            options: [.secret, .judgedBy],
            example: "SIGNIN ADD a1 carol s1 secret=r1",
            about: "Signs an account in on one device, with the digest of its refresh token; 503 "
                + "where another password than the one given is stored."
        ) { words throws(LineError) in
            let password = try words.field(.judgedBy).map { FieldText($0) }
            return try words.account(
                BeginSignIn(
                    try words.name(2), try words.required(.secret), judgedBy: password))
        },
        Verb(
            "SIGNIN RENEW", .writes, [address, "<account>", "<signin>"],
            options: [.secret, .replaced, .issued, .began, .request],
            example: "SIGNIN RENEW a1 carol s1 secret=r2 replaced=r1 issued=117676046575861760 "
                + "began=117676046575861760",
            about: "Replaces the refresh token of a sign-in; 401 where it has another one, 503 "
                + "where the sign-in has not arrived yet."
        ) { words throws(LineError) in
            let renewal = Credentials.Renewal(
                secret: try words.required(.secret), replaced: try words.required(.replaced),
                request: try words.name(.request))
            let (issued, began) = (try words.stamp(.issued), try words.stamp(.began))
            return try words.account(
                RenewSignIn(try words.name(2), renewal, issued: issued, began: began))
        },
        Verb(
            "SIGNIN END", .writes, [address, "<account>"], optional: ["<signin>"],
            options: [.beganIfKnown],
            example: "SIGNIN END a1 carol s1",
            about: "Ends a sign-in of an account, or all of them; with its stamp also one that "
                + "has not arrived yet."
        ) { words throws(LineError) in
            let began = try words.stampIfGiven(.beganIfKnown)
            guard let signIn: SignInID = try words.optionalName(2) else {
                guard began == nil else { throw words.refusedOption("began= is of one sign-in") }
                return try words.account(EndAllSignIns())
            }
            return try words.account(EndSignIn(signIn, began: began))
        },
    ]

    private static let ofKeys: [Verb] = [
        Verb(
            "KEYS", .reads, example: "KEYS",
            about: "Lists the keys with which the cluster signs access tokens, and which tokens "
                + "are revoked."
        ) { _ throws(LineError) in .read(SigningQuery(), of: UserID(checked: "cluster")) },
        Verb(
            "KEY ADD", .writes, ["<key>"], options: [.secret],
            example: "KEY ADD k1 secret=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
            about: "Adds a key with which the cluster signs access tokens: 32 bytes in base64url."
        ) { words throws(LineError) in
            let secret: SecretDigest = try words.required(.secret)
            guard Base64.decode(secret.text)?.count == 32 else {
                throw LineError(400, "secret= is 32 bytes in base64url")
            }
            return .write(Mutation(.addKey(try words.name(0), try words.required(.secret))))
        },
        Verb(
            "REVOKE", .writes, ["<name>"], options: [.through],
            example: "REVOKE s1 through=117676046575861760",
            about: "Has all nodes refuse the access tokens of a user or a sign-in that are no "
                + "later than a stamp; without one, no later than now, and the account is deleted."
        ) { words throws(LineError) in
            let through = try words.stampIfGiven(.through) ?? SigningTable.deletionNow
            return .write(Mutation(.revoke(try words.name(0), through: through)))
        },
    ]
}

extension Option {
    static let address = Option("email", "…", isRequired: true)
    static let password = Option("password", "…", isRequired: true)
    static let began = Option("began", "<stamp>", isRequired: true)
    static let beganIfKnown = Option("began", "<stamp>")
    /// The password hash against which the node checked the password of a sign-in.
    static let judgedBy = Option("password", "…")
    static let issued = Option("issued", "<stamp>", isRequired: true)
    static let replaced = Option("replaced", "…", isRequired: true)
    static let request = Option("request", "…")
    static let secret = Option("secret", "…", isRequired: true)
    static let through = Option("through", "<stamp>")
}

extension ParsedLine {
    func account(_ action: some CredentialsAction) throws(LineError) -> Request {
        .write(Mutation(action, at: try name(0), of: try name(1)))
    }

    /// Returns the stamp that is the value of a required option.
    func stamp(_ option: Option) throws(LineError) -> HybridTimestamp {
        try stampIfGiven(option) ?? .zero
    }

    /// Returns the stamp that is an option's value; nil if the line lacks the option.
    func stampIfGiven(_ option: Option) throws(LineError) -> HybridTimestamp? {
        let last = Int(HybridTimestamp(milliseconds: HybridTimestamp.millisecondsMax).bits)
        return try number(option, in: 1...last).map { HybridTimestamp(bits: UInt64($0)) }
    }

    /// Returns the name that is the value of a required option.
    func required<Kind: Name>(_ option: Option) throws(LineError) -> Kind {
        guard let name = try name(option, as: Kind.self) else {
            preconditionFailure("a line without a required option is refused")
        }
        return name
    }
}
