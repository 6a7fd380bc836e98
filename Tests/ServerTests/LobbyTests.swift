import Testing

@testable import Server

@Suite struct LobbyTests {
    @Test func `who has waited longest goes for who comes, when all places are taken`() {
        var lobby = Lobby(placesMax: 3, millisecondsMax: 100)
        for id in 1...3 as ClosedRange<UInt64> { #expect(lobby.onArrival(id, now: id) == nil) }
        #expect(lobby.onArrival(4, now: 4) == 1)
        #expect(lobby.count == 3)
        lobby.onEnd(of: 3)
        #expect(lobby.onArrival(5, now: 5) == nil)
        #expect(lobby.onArrival(6, now: 6) == 2)
        #expect(lobby.onArrival(7, now: 7) == 4)
    }

    @Test func `who waits too long goes, told once`() {
        var lobby = Lobby(placesMax: 3, millisecondsMax: 100)
        _ = lobby.onArrival(1, now: 0)
        _ = lobby.onArrival(2, now: 50)
        #expect(lobby.onTime(99) == [])
        #expect(lobby.onTime(100) == [1])
        #expect(lobby.onTime(149) == [])
        #expect(lobby.onTime(1_000) == [2])
        #expect(lobby.onTime(2_000) == [])
        #expect(lobby.count == 0)
    }

    @Test func `who may stay is waited for no more`() {
        var lobby = Lobby(placesMax: 1, millisecondsMax: 100)
        _ = lobby.onArrival(1, now: 0)
        lobby.onEnd(of: 1)
        lobby.onEnd(of: 1)
        #expect(lobby.onTime(500) == [])
        #expect(lobby.onArrival(2, now: 500) == nil)
    }
}
