// Which connection of the control socket ends for a new one: by user, and never an operator's for another user's.

import Testing

@testable import Daemon

struct ControlPlacesTests {
    private static let root: UInt32 = 0

    /// Numbers the places in the order of the users.
    private func places(_ users: [UInt32]) -> [ControlPlace] {
        users.enumerated().map { place($1, number: UInt64($0)) }
    }

    private func place(_ user: UInt32, number: UInt64 = 1000) -> ControlPlace {
        ControlPlace(number: number, userID: user, isTrusted: user == ControlPlacesTests.root)
    }

    private func admission(of user: UInt32, to users: [UInt32]) -> ControlPlaces.Admission {
        let taken = places(users)
        let admission = ControlPlaces.admission(of: place(user), to: taken)
        #expect(admission == ControlPlaces.admission(of: place(user), to: taken.reversed()))
        return admission
    }

    @Test("a free place is given to every user, also to one that holds all others")
    func free() {
        #expect(admission(of: 7, to: Array(repeating: 7, count: 31)) == .free)
    }

    @Test("an unprivileged user displaces its own oldest connection, not root's older one")
    func own() {
        #expect(admission(of: 7, to: [0, 0] + Array(repeating: 7, count: 30)) == .closing(2))
    }

    @Test("root displaces an unprivileged connection, however many root has")
    func root() {
        #expect(admission(of: 0, to: Array(repeating: 0, count: 31) + [7]) == .closing(31))
    }

    @Test("a second unprivileged user displaces the one with the most connections")
    func second() {
        #expect(admission(of: 8, to: [8] + Array(repeating: 7, count: 31)) == .closing(1))
        #expect(admission(of: 8, to: Array(repeating: 7, count: 16) + Array(repeating: 8, count: 16)) == .closing(16))
    }

    @Test("an unprivileged user is refused while root and the daemon's user have all places")
    func refused() {
        #expect(admission(of: 7, to: Array(repeating: 0, count: 32)) == .refused)
    }

    @Test("root's oldest connection ends for root's new one if root has all places")
    func all() {
        #expect(admission(of: 0, to: Array(repeating: 0, count: 32)) == .closing(0))
    }
}
