#if PlantedBugs
    /// A known bug that `grapevine-sim --plant NAME` switches on, to see the simulator find it.
    ///
    /// A build without the package trait `PlantedBugs` contains none of them.
    public enum PlantedBug: String, CaseIterable, Sendable {
        case coversFirstRangeOnly = "covers-first-range-only"
        case setContextLost = "set-context-lost"
        case wallClockOnly = "wall-clock-only"
        case editRevivesDeleted = "edit-revives-deleted"

        /// Set once, before the first run, by the program.
        nonisolated(unsafe) public static var planted: PlantedBug?

        public var isOn: Bool { PlantedBug.planted == self }
    }
#endif
