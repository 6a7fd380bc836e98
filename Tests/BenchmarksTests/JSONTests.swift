import Foundation
import Testing

@testable import Benchmarks

@Suite struct JSONTests {
    @Test func `a text is quoted so that any reader has it back`() throws {
        let text = "a \"b\" \\ \n\t\u{1}\u{1F} / é 👍\u{7F}"
        #expect(JSON.text("\u{1}\"\\\n").text() == #""\u0001\"\\\n""#)
        let data = Data(JSON.list([.text(text)]).text().utf8)
        #expect(try JSONSerialization.jsonObject(with: data) as? [String] == [text])
    }

    @Test func `numbers are numbers, and what is none is null`() {
        #expect(JSON.number(0.25).text() == "0.25")
        #expect(JSON.number(.infinity).text() == "null")
        #expect(JSON.number(.nan).text() == "null")
        #expect(JSON.whole(-7).text() == "-7")
        #expect(JSON.flag(true).text() == "true")
        #expect(JSON.none.text() == "null")
    }

    @Test func `objects keep their order, and lists of plain values one line`() {
        let value = JSON.object([
            .init("z", .list([.whole(1), .whole(2)])),
            .init("a", .object([])),
            .init("m", .list([.object([.init("k", .none)])])),
        ])
        #expect(
            value.text() == """
                {
                  "z": [1, 2],
                  "a": {},
                  "m": [
                    {
                      "k": null
                    }
                  ]
                }
                """)
    }
}
