// The operator's connection that ends for a new one: by user or address, and never an operator's for another user's.

import DNSWire
import Testing

@testable import LinuxIO

struct ConnectionSharesTests {
    private static let root: UInt32 = 0

    /// Connections of these users, numbered in this order.
    private func places(_ users: [UInt32]) -> [HeldConnection] {
        users.enumerated().map { place($1, number: UInt64($0)) }
    }

    private func place(_ user: UInt32, number: UInt64 = 1000) -> HeldConnection {
        HeldConnection(number: number, holder: .user(user), isTrusted: user == ConnectionSharesTests.root)
    }

    private func admission(of user: UInt32, to users: [UInt32]) -> ConnectionShares.Admission {
        let taken = places(users)
        let admission = ConnectionShares.admission(of: place(user), to: taken)
        #expect(admission == ConnectionShares.admission(of: place(user), to: taken.reversed()))
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

    @Test("a holder is a user of this machine, an IPv4 address or an IPv6 network")
    func holders() throws {
        let holder = { (text: String, user: UInt32?) in ConnectionHolder(try #require(Address(text)), userID: user) }
        #expect(try holder("127.0.0.1", 7) == .user(7) && holder("127.0.0.1", nil) == .address(.v4(0x7F00_0001)))
        #expect(try holder("2001:db8::1", nil) == holder("2001:db8::2", nil))
        #expect(try holder("2001:db8::1", nil) != holder("2001:db8:0:1::1", nil))
        #expect(try holder("::ffff:192.0.2.1", nil) == holder("192.0.2.1", nil))
    }

    @Test("the kernel tells a connection's user on this machine", arguments: ["127.0.0.1:0", "[::1]:0"])
    func owner(_ address: String) throws {
        let listener = try Listener(on: #require(SocketAddress(address)))
        let port = try listener.localAddress().port
        let host = address.hasPrefix("[::1]") ? "[::1]" : "127.0.0.1"
        let client = try StreamSocket(connectingTo: #require(SocketAddress("\(host):\(port)")))
        try #require(becomesReady(listener.descriptor.raw))
        let accepted = try #require(try listener.accept())
        let local = try accepted.socket.localAddress()
        #expect(SocketOwner.userID(of: accepted.peer, connectedTo: local) == Machine.user.userID)
        let other = SocketAddress(accepted.peer.address, port: accepted.peer.port ^ 1)
        #expect(SocketOwner.userID(of: other, connectedTo: local) == nil)
        _ = client
    }
}
