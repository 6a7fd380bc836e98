import Chat
import LineProtocol
import Node
import StorePort

extension LineError {
    /// The reason of the error for programs: a word that stays the same when the sentence changes.
    package var reason: String {
        LineError.reasons[sentence] ?? LineError.reasonsByCode[code] ?? "error"
    }

    /// The reasons by sentence, because the sentence alone identifies the error in a node's reply.
    private static let reasons: [String: String] = {
        let refusals = Refusal.allCases.map { (LineError(ShardFailure.refused($0)), $0.reason) }
        return Dictionary(
            (refusals + others).map { ($0.sentence, $1) }, uniquingKeysWith: { first, _ in first })
    }()

    private static let others: [(LineError, String)] = [
        (.textTooLong, "text_too_long"), (.messageEmpty, "message_empty"),
        (.signInExpired, "access_token_expired"), (.otherUser, "other_user"),
        (.operatorsOnly, "operators_only"), (.tokenBad, "token_bad"),
        (.tokenOfAnotherCluster, "token_of_another_cluster"),
        (LineError(OperationFailure.foreignToken), "token_of_another_cluster"),
        (LineError(OperationFailure.noStream), "stream_not_found"),
        (.operationEarly, "operation_early"), (.operationExpired, "operation_expired"),
        (.operationClosing, "operation_closing"),
        (LineError(ShardFailure.store(.full)), "disk_full"),
        (LineError(ShardFailure.behind), "replicas_behind"),
        (LineError(ShardFailure.unreachable), "replicas_unreachable"),
    ]

    /// The sentence for clients of the API, which does not name verbs of the line protocol.
    package var sentenceInAPI: String { LineError.inAPI[sentence] ?? sentence }

    /// The sentences of the API by the sentences of the line protocol.
    private static let inAPI = Dictionary(
        [
            (tokenBad, "Not the token of an answer: send it whole and unchanged"),
            (tokenOfAnotherCluster, "The token is of another cluster; begin without one"),
            (
                LineError(OperationFailure.foreignToken),
                "The token is of another cluster; begin without one"
            ),
            (LineError(ShardFailure.store(.full)), "The disk of this node is full; deletions work"),
            (
                conversationFull,
                "A conversation keeps all who were ever in it, and this one can keep no more; "
                    + "create another"
            ),
            (
                deviceFull,
                "This device keeps as much as it can; deleting its notifications, or the device, "
                    + "makes room"
            ),
            (
                LineError(OperationFailure.tooManyWatchers),
                "Too many connections watch on this node; ask another"
            ),
            (
                LineError(OperationFailure.tooManyTyping),
                "Too many type at once; say so where somebody stops"
            ),
        ].map { ($0.sentence, $1) }, uniquingKeysWith: { first, _ in first })

    private static let reasonsByCode = [
        400: "bad_request", 401: "not_signed_in", 403: "forbidden", 404: "not_found",
        405: "method_not_allowed", 408: "request_timeout", 409: "conflict",
        413: "too_large", 414: "target_too_long", 415: "unsupported_media_type",
        416: "range_not_satisfiable", 417: "expectation_failed", 421: "misdirected_request",
        426: "upgrade_required", 429: "too_many_requests", 431: "fields_too_large",
        500: "internal_error", 501: "not_implemented", 503: "unavailable", 504: "timeout",
        505: "version_not_supported",
    ]
}

extension Refusal {
    var reason: String {
        switch self {
        case .conversationNotFound: "conversation_not_found"
        case .messageNotFound: "message_not_found"
        case .notParticipant: "not_participant"
        case .editForbidden: "edit_window_over"
        case .notSender, .notOwner: "not_yours"
        case .conversationExists: "conversation_exists"
        case .messageExists: "message_exists"
        case .messageDeleted: "message_deleted"
        case .tooManyEdits: "too_many_edits"
        case .tooManyParticipants: "too_many_participants"
        case .profileNotFound: "profile_not_found"
        case .itemNotFound: "item_not_found"
        case .itemExists: "item_exists"
        case .deviceNotFound: "device_not_found"
        case .tooManyDevices: "too_many_devices"
        case .conversationFull: "conversation_full"
        case .deviceFull: "device_full"
        case .documentFull: "document_full"
        case .shardFull: "shard_full"
        case .emailInUse: "email_in_use"
        case .accountNotFound: "account_not_found"
        case .accountDisabled: "account_disabled"
        case .signInEnded: "sign_in_ended"
        case .refreshTokenUsed: "refresh_token_used"
        case .signInBehind: "sign_in_behind"
        case .signInDisplaced: "sign_in_displaced"
        case .signInSuperseded: "sign_in_superseded"
        case .passwordUnsettled: "password_unsettled"
        case .tooManyRevocations: "too_many_revocations"
        case .fileNotFound: "file_not_found"
        case .fileExists: "file_exists"
        case .previewTooLarge: "preview_too_large"
        case .tooManyBlocked: "too_many_blocked"
        case .blockedByUser: "blocked"
        case .userThemselves: "user_themselves"
        case .userNotFound: "user_not_found"
        case .tooManyStrangers: "too_many_strangers"
        case .tooManyUnsentBytes: "too_many_unsent_bytes"
        }
    }
}
