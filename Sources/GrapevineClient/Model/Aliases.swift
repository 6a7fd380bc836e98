import Foundation

/// The members of a JSON object by any of several names: apps that come from a hosted database have
/// written one value under different keys.
struct Aliases {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder) throws {
        container = try decoder.container(keyedBy: Key.self)
    }

    /// Returns the first of the named members that is there: nil if none is, or if it is null.
    ///
    /// - Throws: `DecodingError` if a member has another type.
    func value<Value: Decodable>(_ names: String..., as type: Value.Type = Value.self) throws
        -> Value?
    {
        for name in names {
            let key = Key(stringValue: name)
            if let value = try container.decodeIfPresent(Value.self, forKey: key) { return value }
        }
        return nil
    }

    /// Returns the first of the named members that is there and has this type.
    func matching<Value: Decodable>(_ names: String..., as type: Value.Type = Value.self) -> Value?
    {
        for name in names {
            let key = Key(stringValue: name)
            do {
                if let value = try container.decodeIfPresent(Value.self, forKey: key) {
                    return value
                }
            } catch {
                continue  // The member has another of the shapes that apps have written.
            }
        }
        return nil
    }

    /// Returns a date under one of these names: as the decoder reads dates, as a text in RFC 3339,
    /// or as an object with `seconds` and `nanoseconds`.
    ///
    /// - Throws: `DecodingError` if there is a member that is none of these.
    func date(_ names: String...) throws -> Date? {
        for name in names {
            let key = Key(stringValue: name)
            guard container.contains(key), try !container.decodeNil(forKey: key) else { continue }
            if let text = matching(name, as: String.self), let date = Date(rfc3339: text) {
                return date
            }
            if let timestamp = matching(name, as: Timestamp.self) { return timestamp.date }
            return try container.decode(Date.self, forKey: key)
        }
        return nil
    }
}

/// A time as hosted databases write it into JSON.
private struct Timestamp: Decodable {
    let seconds: Double
    let nanoseconds: Double?

    var date: Date { Date(timeIntervalSince1970: seconds + (nanoseconds ?? 0) / 1e9) }
}

extension ExactTime {
    init(date: Date) {
        self.init(milliseconds: Int64(date.timeIntervalSince1970 * 1_000))
    }

    /// The time in RFC 3339 in UTC, with three digits after the second.
    var short: String { String(description.prefix(23)) + "Z" }
}

extension Date {
    init(_ time: ExactTime) {
        self.init(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
    }

    /// - Parameter text: a time in UTC with no, three or nine digits after the second.
    init?(rfc3339 text: String) {
        let whole = text.hasSuffix("Z") && !text.contains(".") ? text.dropLast() + ".000Z" : text
        guard let time = ExactTime(String(whole)) else { return nil }
        self.init(time)
    }
}
