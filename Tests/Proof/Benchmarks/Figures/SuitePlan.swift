/// The sizes and durations of a run of all figures.
struct SuitePlan: Hashable, Sendable {
    /// The time for which each load is measured, in seconds.
    var seconds = 4
    var runs = 3
    /// The numbers of sends that a node misses while it is down.
    var missed = [10_000, 100_000]
    /// The number of watching connections to one node: nearly its limit of clients.
    var watchers = 9_900
    /// The number of messages in the conversation whose pages are read.
    var messages = 100_000
    /// The numbers of messages in the conversations on which the cost of each verb is compared.
    var growth = [100, 10_000, 1_000_000]
    /// Whether only the rows of growth are measured.
    var isGrowthAlone = false
    /// The number of pages that are read.
    var pages = 500

    /// A plan for a first look.
    static let quick = SuitePlan(
        seconds: 2, runs: 1, missed: [10_000], watchers: 2_000, messages: 20_000,
        growth: [100, 10_000], pages: 200)

    /// A plan as large as the aims; it takes long.
    static let large = SuitePlan(missed: [10_000, 100_000, 1_000_000], messages: 1_000_000)

    /// Returns the number of runs; missing a million sends takes minutes, so it is measured once.
    func runs(missing sends: Int) -> Int { sends >= 1_000_000 ? 1 : runs }
}
