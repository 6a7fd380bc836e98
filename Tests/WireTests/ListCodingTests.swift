import Testing
import Wire

struct ListCodingTests {
    @Test func `elements of one key may have any order, and none occurs twice`() throws {
        let tens: (Int) -> Int = { $0 / 10 }
        #expect(try [2, 1, 13, 11].ascending("numbers", within: tens) == [1, 2, 11, 13])
        for wrong in [[11, 2], [2, 1, 2]] {
            #expect(throws: WireError.self) { try wrong.ascending("numbers", within: tens) }
        }
    }
}
