import Wire

/// A known defect that can be switched on, with the invariants of which one must detect it.
package struct SeededBug: Hashable, Sendable {
    package let name: String
    package let breaks: [Invariant]
    /// The world in which the bug is searched for.
    package let world: WorldKind
    /// The seed that is tried first: it finds a bug that few seeds find.
    package let seed: UInt64

    /// The bugs of this build: none without the package trait `PlantedBugs`.
    package static var all: [SeededBug] {
        #if PlantedBugs
            PlantedBug.allCases.map {
                SeededBug(name: $0.rawValue, breaks: $0.breaks, world: $0.world, seed: $0.seed)
            }
        #else
            []
        #endif
    }

    /// Switches the bug on for every run of this process; to be called before the first run.
    package static func seededBug(_ seededBug: SeededBug?) {
        #if PlantedBugs
            PlantedBug.planted = seededBug.flatMap { PlantedBug(rawValue: $0.name) }
        #endif
    }
}

#if PlantedBugs
    extension PlantedBug {
        var world: WorldKind {
            switch self {
            case .evictedNotDialled, .minorityEvicts, .refutesWithoutRaising, .silenceShrinks,
                .suspectsAfterOwnPause:
                .members
            case .blocksNotAsked, .causeForgotten, .clientStampIgnored, .clockFollowsAny,
                .droppedListAwaitsParts,
                .evictedNotHeard,
                .minimumIgnored, .notificationSentTwice, .profileToldToStrangers, .pushNotRecorded,
                .replayAheadOfTold, .tokenForgetsDeletions,
                .tokenLeavesAtOnce, .typingOutlivesConnection, .unboundedPeerQueue:
                .whole
            default: .machines
            }
        }

        var seed: UInt64 {
            switch self {
            case .addReplacesTags: 8
            case .blocksNotAsked: 11
            case .causeForgotten: 184
            case .claimsUnited: 56
            case .clientStampIgnored: 273
            case .clockFollowsAny: 128
            case .confirmationOutlivesConnection: 13
            case .coversFirstRangeOnly: 191
            case .damagedIndexReadAsEmpty: 215
            case .droppedListAwaitsParts: 216
            case .editJudgedBySending: 67
            case .evictedNotDialled: 7_196
            case .evictedNotHeard: 119
            case .expiredExecuted: 19
            case .lateDoneCounts: 8_025
            case .lateHideTakesAll, .lateOperationRaised, .lateRemovalUnrecorded,
                .repetitionJudged:
                8
            case .lateAdditionWins, .lateMarkUnbounded: 23
            case .laterBlockCounts: 222
            case .laterCreationJoins: 3_016
            case .minimumIgnored: 70
            case .numberingContinuedAfterFailure: 59
            case .oldPasswordSurvives: 469
            case .pushNotRecorded: 7
            case .replayAheadOfTold: 1_795_840_594_282
            case .sameValueUnrecorded: 25
            case .secondTimeGiven: 36_732
            case .sendsOfUsersUnited: 1_936
            case .staleWritten: 114
            case .tieDecidedByStamp: 732
            case .tokenLeavesAtOnce: 7
            case .unboundedPeerQueue: 6
            case .unknownEndDropped: 3_765
            case .vouchesWhileCatchingUp: 35
            default: 0
            }
        }

        var breaks: [Invariant] {
            switch self {
            case .acknowledgedBeforeStored: [.kept]
            // A peer that counts as having confirmed is not asked to confirm again, and an owner
            // waits for that confirmation.
            case .confirmationOutlivesConnection: [.kept, .equal]
            // A late execution or a late remove leaves a state that differs from what the
            // operations say.
            case .addReplacesTags, .removeNotRecorded, .removeTakesLaterTags, .tagOfExecution,
                .unsettledForgotten:
                [.kept, .claims, .deleted, .equal]
            case .operationTimedByExecutor, .secondTimeGiven, .staleWritten:
                [.kept, .claims, .oneChange, .judgedOnce]
            case .clientStampIgnored: [.kept]
            case .expiredExecuted: [.times]
            case .lateAdditionWins: [.kept, .deleted, .claims]
            case .lateHideTakesAll: [.deleted]
            case .lateMarkUnbounded: [.claims]
            case .lateOperationRaised: [.oneChange]
            case .editJudgedBySending, .lateRemovalUnrecorded, .sameValueUnrecorded: [.kept]
            case .repetitionJudged: [.judgedOnce, .oneChange]
            // A version claim is confirmed, too.
            case .claimFromMemory: [.claims, .kept]
            case .claimsUnited, .laterBlockCounts, .lateDoneCounts, .laterCreationJoins,
                .tieDecidedByStamp, .vectorAdvancedBeforeDone:
                [.claims]
            case .causeForgotten: [.cause]
            case .coversFirstRangeOnly: [.equal, .kept]
            case .damagedIndexReadAsEmpty: [.claims, .kept, .equal]
            case .droppedBeforeAllAccepted: [.kept]
            case .droppedOnConfirmedVectors: [.deleted, .kept]
            case .dotsReusedAfterWipe, .numberingContinuedAfterFailure,
                .numberingContinuedAfterRestore:
                [.oneDot]
            case .evictedNotDialled, .refutesWithoutRaising: [.oneView]
            case .evictedNotHeard: [.reads, .answered]
            case .minorityEvicts: [.eviction]
            case .silenceShrinks, .suspectsAfterOwnPause: [.noFalseDeath]
            case .editRevivesDeleted, .pinRevivesDeleted, .servesOldDisk,
                .vouchesWhileCatchingUp:
                [.deleted]
            // The header on disk claims less than before, and its earlier claim was confirmed.
            case .olderBaseTaken: [.claims, .kept, .equal]
            case .indexNotUpdatedOnMerge, .countsNotUpdated: [.index]
            case .previewIgnoresHide, .unreadNotRecomputed: [.kept]
            case .notificationSentTwice: [.oneChange]
            case .sendsOfUsersUnited: [.deleted, .claims]
            case .profileToldToStrangers: [.sound]
            case .pushNotRecorded: [.oneChange]
            case .oldPasswordSurvives, .unknownEndDropped: [.deleted]
            // A list that ends too early differs from those of the other nodes.
            case .droppedListAwaitsParts: [.level, .reads]
            case .replayAheadOfTold: [.reads]
            case .ruleJudgedAtMerge: [.judgedOnce, .equal]
            case .setContextLost: [.kept, .deleted, .claims]
            // A list that ignores the minimum version of a token shows notifications that were
            // acknowledged or viewed, and omits those of a conversation that is viewed no more.
            case .minimumIgnored: [.reads, .oneChange, .sound, .kept]
            case .blocksNotAsked: [.reads, .equal]
            case .shownBeforeStored, .tokenForgetsDeletions, .tokenLeavesAtOnce: [.reads]
            case .typingOutlivesConnection: [.typing]
            case .unboundedPeerQueue: [.bounded]
            case .wallClockOnly: [.stamps]
            case .clockFollowsAny: [.times]
            }
        }
    }
#endif
