import Wire

/// The planted bugs, each with the invariants that it breaks: one of them must find it.
package struct SeededBug: Hashable, Sendable {
    package let name: String
    package let breaks: [Invariant]
    /// Where it is looked for.
    package let world: WorldKind
    /// The seed that is tried first: it found a bug that few seeds find.
    package let seed: UInt64

    /// Those of this build: none without the package trait.
    package static var all: [SeededBug] {
        #if PlantedBugs
            PlantedBug.allCases.map {
                SeededBug(name: $0.rawValue, breaks: $0.breaks, world: $0.world, seed: $0.seed)
            }
        #else
            []
        #endif
    }

    /// Switches the bug on, for every run of this process; before the first.
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
            case .aheadToldOfChanges, .causeForgotten, .clockFollowsAny, .evictedNotHeard,
                .minimumIgnored, .notificationSentTwice, .profileToldToStrangers,
                .tokenForgetsDeletions, .typingOutlivesConnection, .unboundedPeerQueue:
                .whole
            default: .machines
            }
        }

        var seed: UInt64 {
            switch self {
            case .aheadToldOfChanges: 1_646
            case .clockFollowsAny: 92
            case .coversFirstRangeOnly: 54
            case .droppedOnConfirmedVectors: 13_823
            case .evictedNotDialled: 212
            case .evictedNotHeard: 112
            case .minimumIgnored: 63
            case .lateDoneCounts: 8_025
            case .secondTimeGiven: 17_374
            default: 0
            }
        }

        var breaks: [Invariant] {
            switch self {
            case .acknowledgedBeforeStored: [.kept]
            // Who is taken to have confirmed is not asked again, and an owner waits for it.
            case .confirmationOutlivesConnection: [.kept, .equal]
            // What a late execution or a late remove left is not what the operations say.
            case .addReplacesTags, .removeNotRecorded, .removeTakesLaterTags, .tagOfExecution,
                .unsettledForgotten:
                [.kept, .claims, .deleted, .equal]
            case .operationTimedByExecutor, .secondTimeGiven, .staleWritten:
                [.kept, .claims, .oneChange, .judgedOnce]
            // A claim is confirmed, too.
            case .claimFromMemory: [.claims, .kept]
            case .claimsUnited, .lateDoneCounts, .vectorAdvancedBeforeDone: [.claims]
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
            // A disk says less than it said, and what it said was confirmed.
            case .olderBaseTaken: [.claims, .kept, .equal]
            case .indexNotUpdatedOnMerge, .countsNotUpdated: [.index]
            case .previewIgnoresHide, .unreadNotRecomputed: [.kept]
            case .notificationSentTwice: [.oneChange]
            case .profileToldToStrangers: [.sound]
            case .ruleJudgedAtMerge: [.judgedOnce, .equal]
            case .setContextLost: [.kept, .deleted, .claims]
            // A list that ignores what a token says of it shows what was taken off or viewed, and
            // passes over what is viewed no more.
            case .minimumIgnored: [.reads, .oneChange, .sound, .kept]
            case .aheadToldOfChanges, .shownBeforeStored, .tokenForgetsDeletions: [.reads]
            case .typingOutlivesConnection: [.typing]
            case .unboundedPeerQueue: [.bounded]
            case .wallClockOnly: [.stamps]
            case .clockFollowsAny: [.times]
            }
        }
    }
#endif
