/// How much a run of all figures does.
struct SuitePlan: Hashable, Sendable {
    /// How long each load is measured.
    var seconds = 4
    var runs = 3
    /// How many sends a node misses before it comes back.
    var missed = [10_000, 100_000]
    /// How many connections of one node watch: almost as many as it takes clients.
    var watchers = 9_900
    /// How many messages the conversation has whose pages are asked for.
    var messages = 100_000
    /// How many messages the conversations have with which the cost of each verb is compared.
    var growth = [100, 10_000, 1_000_000]
    /// No other rows are measured.
    var isGrowthAlone = false
    /// How many pages are asked for.
    var pages = 500

    /// For a first look.
    static let quick = SuitePlan(
        seconds: 2, runs: 1, missed: [10_000], watchers: 2_000, messages: 20_000,
        growth: [100, 10_000], pages: 200)

    /// As large as the aims are; it takes long.
    static let large = SuitePlan(missed: [10_000, 100_000, 1_000_000], messages: 1_000_000)

    /// A million takes minutes: once is enough.
    func runs(missing sends: Int) -> Int { sends >= 1_000_000 ? 1 : runs }
}
