import Admin
import Chat
import LineProtocol
import Testing
import Wire

/// Checks that a data line has the keys and the types that its shape promises to readers.
package func checkShape(of line: String) {
    guard case .data(let noun, let fields)? = ReplyLine(line),
        let shape = ViewDescription.all.first(where: { $0.noun == noun })
    else { return }
    for key in shape.keys where key.isRequired {
        #expect(fields[key.name] != nil, "\(key.name) is missing: \(line)")
    }
    for pair in fields.pairs {
        guard let type = shape.keys.first(where: { $0.name == pair.key })?.type else {
            Issue.record("\(noun) has no key \(pair.key): \(line)")
            continue
        }
        #expect(pair.value.fits(type), "\(pair.key) is of another type: \(line)")
    }
}

extension String {
    package func fits(_ type: ViewDescription.ValueType) -> Bool {
        switch type {
        case .text: true
        case .name: isName(utf8)
        case .time: LineTime.parse(self) != nil
        case .number: Int64(self) != nil
        case .flag: self == "true" || self == "false"
        case .list: split(separator: ",").allSatisfy { isName($0.utf8) }
        case .copies: split(separator: "/").compactMap { Int($0) }.count == 2
        }
    }
}
