#if PlantedBugs
    /// A seeded bug, which `grapevine-sim --plant NAME` switches on to check that the simulator
    /// finds it.
    ///
    /// Only a build with the package trait `PlantedBugs` contains these bugs.
    public enum PlantedBug: String, CaseIterable, Sendable {
        case acknowledgedBeforeStored = "acknowledged-before-stored"
        case addReplacesTags = "add-replaces-tags"
        case blocksNotAsked = "blocks-not-asked"
        case causeForgotten = "cause-forgotten"
        case claimFromMemory = "claim-from-memory"
        case claimsUnited = "claims-united"
        case clockFollowsAny = "clock-follows-any"
        case confirmationOutlivesConnection = "confirmation-outlives-connection"
        case countsNotUpdated = "counts-not-updated"
        case coversFirstRangeOnly = "covers-first-range-only"
        case droppedBeforeAllAccepted = "dropped-before-all-accepted"
        case droppedOnConfirmedVectors = "dropped-on-confirmed-vectors"
        case dotsReusedAfterWipe = "dots-reused-after-wipe"
        case editRevivesDeleted = "edit-revives-deleted"
        case evictedNotDialled = "evicted-not-dialled"
        case damagedIndexReadAsEmpty = "damaged-index-read-as-empty"
        case evictedNotHeard = "evicted-not-heard"
        case minimumIgnored = "floor-ignored"
        case indexNotUpdatedOnMerge = "index-not-updated-on-merge"
        case lateDoneCounts = "late-done-counts"
        case laterBlockCounts = "later-block-counts"
        case laterCreationJoins = "later-creation-joins"
        case minorityEvicts = "minority-evicts"
        case notificationSentTwice = "notification-sent-twice"
        case numberingContinuedAfterFailure = "numbering-continued-after-failure"
        case numberingContinuedAfterRestore = "numbering-continued-after-restore"
        case oldPasswordSurvives = "old-password-survives"
        case olderBaseTaken = "older-base-taken"
        case operationTimedByExecutor = "operation-timed-by-executor"
        case pinRevivesDeleted = "pin-revives-deleted"
        case previewIgnoresHide = "preview-ignores-hide"
        case profileToldToStrangers = "profile-told-to-strangers"
        case pushNotRecorded = "push-not-recorded"
        case refutesWithoutRaising = "refutes-without-raising"
        case removeNotRecorded = "remove-not-recorded"
        case removeTakesLaterTags = "remove-takes-later-tags"
        case ruleJudgedAtMerge = "rule-judged-at-merge"
        case secondTimeGiven = "second-time-given"
        case sendsOfUsersUnited = "sends-of-users-united"
        case servesOldDisk = "serves-old-disk"
        case setContextLost = "set-context-lost"
        case shownBeforeStored = "shown-before-stored"
        case silenceShrinks = "silence-shrinks"
        case staleWritten = "stale-written"
        case suspectsAfterOwnPause = "suspects-after-own-pause"
        case tagOfExecution = "tag-of-execution"
        case tokenForgetsDeletions = "token-forgets-deletions"
        case tokenLeavesAtOnce = "token-leaves-at-once"
        case typingOutlivesConnection = "typing-outlives-connection"
        case unboundedPeerQueue = "unbounded-peer-queue"
        case unknownEndDropped = "unknown-end-dropped"
        case unreadNotRecomputed = "unread-not-recomputed"
        case unsettledForgotten = "unsettled-forgotten"
        case vectorAdvancedBeforeDone = "vector-advanced-before-done"
        case vouchesWhileCatchingUp = "vouches-while-catching-up"
        case wallClockOnly = "wall-clock-only"

        /// The bug that is switched on; the program sets it once, before the first run.
        nonisolated(unsafe) public static var planted: PlantedBug?

        public var isOn: Bool { PlantedBug.planted == self }
    }
#endif
