/// Seeds that once broke something, of the nodes or of a world's own rules: each is run again by
/// every test run.
package enum KeptSeeds {
    package static func of(_ world: WorldKind) -> [UInt64] {
        switch world {
        case .machines:
            [
                125, 146, 169, 181, 215, 286, 408, 468, 596, 972, 1_805, 2_137, 2_444, 5_399, 6_720,
                8_359, 8_778, 10_414, 10_541, 12_084, 13_251, 13_985, 26_656,
            ]
        case .members: [33, 36, 70, 71, 81, 82, 98, 99, 124, 3_438]
        case .whole: [3, 33, 57, 75, 164, 215, 451, 528, 780, 799, 826, 858, 1_113, 1_122, 10_408]
        }
    }
}
