import LineProtocol
import Node

/// The limits of the line protocol, each with the effect of exceeding the limit: an entry is one
/// line of `HELP limits`.
extension Limit {
    static let ofLines: [Limit] = [
        Limit(
            "line-bytes", LineLimits.lineBytesMax, "bytes",
            "413, and the line is skipped to its end"),
        Limit("text-bytes", LineLimits.textBytesMax, "bytes", "413"),
        Limit("field-bytes", LineLimits.fieldBytesMax, "bytes", "413"),
        Limit("address-bytes", LineLimits.addressBytesMax, "bytes", "400"),
        Limit("history-messages", LineLimits.historyMax, "messages of a HISTORY", "400"),
        Limit("wait", LineLimits.waitMillisecondsMax, "milliseconds", "400"),
    ]
}
