import Foundation

@testable import GrapevineClient

/// A JSON value of a scenario.
enum ScriptedJSON: Codable, Equatable {
    case null
    case flag(Bool)
    case number(Int64)
    case text(String)
    case list([ScriptedJSON])
    case object([String: ScriptedJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        func decoded<Value: Decodable>(_: Value.Type) throws -> Value? {
            do {
                return try container.decode(Value.self)
            } catch is DecodingError {
                return nil
            }
        }
        if container.decodeNil() {
            self = .null
        } else if let flag = try decoded(Bool.self) {
            self = .flag(flag)
        } else if let number = try decoded(Int64.self) {
            self = .number(number)
        } else if let text = try decoded(String.self) {
            self = .text(text)
        } else if let list = try decoded([ScriptedJSON].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: ScriptedJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .object(let members): try container.encode(members)
        }
    }

    /// The JSON text, whose members are sorted.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            preconditionFailure("A JSON value is written as JSON: \(error)")
        }
    }

    subscript(_ name: String) -> ScriptedJSON? {
        get { members[name] }
        set {
            var members = members
            members[name] = newValue
            self = .object(members)
        }
    }

    var members: [String: ScriptedJSON] {
        if case .object(let members) = self { members } else { [:] }
    }

    var elements: [ScriptedJSON] {
        if case .list(let elements) = self { elements } else { [] }
    }

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    var number: Int64? {
        if case .number(let number) = self { number } else { nil }
    }

    var flag: Bool? {
        if case .flag(let flag) = self { flag } else { nil }
    }

    /// Returns the value with each text in it replaced.
    func mapTexts(_ replaced: (String) -> String) -> ScriptedJSON {
        switch self {
        case .text(let text): .text(replaced(text))
        case .list(let list): .list(list.map { $0.mapTexts(replaced) })
        case .object(let members): .object(members.mapValues { $0.mapTexts(replaced) })
        case .null, .flag, .number: self
        }
    }

    /// Merges the members of an element into that of a list with its id, or adds it.
    mutating func merge(element: ScriptedJSON) {
        var list = elements
        if let index = list.firstIndex(where: { $0["id"] == element["id"] }) {
            list[index] = .object(
                list[index].members.merging(element.members) { _, new in new })
        } else {
            list.append(element)
        }
        self = .list(list)
    }
}
