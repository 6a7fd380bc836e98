import Testing

@testable import ChatClient

@Suite struct MessageLabelsTests {
    private func labels(_ steps: [[String]], from first: Int = 1) -> [String?] {
        var labels = MessageLabels()
        labels.begin(at: first)
        for ids in steps { labels.assign(to: ids) }
        return (steps.last ?? []).map { labels[$0] }
    }

    @Test func `messages are numbered in their order, and new ones go on`() {
        #expect(labels([["a", "b"], ["a", "b", "c"]]) == ["1", "2", "3"])
    }

    @Test func `older messages have lower numbers, and no number changes`() {
        #expect(
            labels([["c", "d"], ["a", "b", "c", "d", "e"]], from: 901)
                == ["899", "900", "901", "902", "903"])
    }

    @Test func `a message that arrives late has the number before it and a letter`() {
        #expect(labels([["a", "d"], ["a", "b", "c", "d"]]) == ["1", "1a", "1b", "2"])
        #expect(labels([["b"], ["a", "b"]]) == ["0a", "1"])
    }

    @Test func `many that arrive late stay in order, and none has another's`() {
        let late = (100..<200).map { "m\($0)" }
        let found = labels([["a", "z"], ["a"] + late + ["z"]]).compactMap { $0 }
        #expect(found.count == 102)
        #expect(Set(found).count == 102)
        #expect(found.dropLast() == found.dropLast().sorted()[...])
    }

    @Test func `a number is given once, also where its message has gone`() {
        var labels = MessageLabels()
        labels.assign(to: ["a", "b"])
        labels.assign(to: ["a", "c"])
        #expect(labels["b"] == "2")
        #expect(labels["c"] == "3")
    }
}
