import Testing

@testable import Wire

@Suite struct SortedSearchTests {
    @Test(arguments: 0..<40) func `the first of the second part is found`(count: Int) {
        let numbers = Array(0..<count)
        for bound in 0...count {
            #expect(numbers.partitioningIndex { $0 >= bound } == bound)
            let part = numbers[(count / 3)...]
            #expect(part.partitioningIndex { $0 >= bound } == max(bound, part.startIndex))
        }
    }
}
