// Lists of service nodes: when they are asked for, and whose list is used.

import DNSWire
import HTTPClient
import LinuxIO
import Resolver
import Settings
import Testing

@testable import Daemon

struct NodeListsTests {
    private let stand: ResolvingStand
    private let now = Clock.now()
    private let note = "nodes of ali"

    init() throws {
        stand = try ResolvingStand()
    }

    private func providers(region: String = "global") throws -> [Settings.Provider] {
        let text = """
            [[provider]]
            name = "ali"
            dialect = "alicloud"
            url = "http://192.0.2.1/"
            account = "139450"
            region = "\(region)"
            """
        return try Settings.parse(bytes: Array(text.utf8), file: "test").providers
    }

    private var dialled: [String] { stand.resolving.providers.providers.flatMap { $0.endpoints.map(\.address) } }

    @Test("without a store a list is asked for at once; nothing else would tell what is kept")
    func memoryOnly() throws {
        let lists = NodeLists(stand.resolving)
        try stand.setProviders(providers(), now: now)
        lists.begin(now: now)
        #expect(lists.nextDeadline == now)
    }

    @Test("while no provider is to be asked, none is asked for its list either")
    func paused() throws {
        let lists = NodeLists(stand.resolving)
        try stand.setProviders(providers(), now: now)
        lists.begin(now: now)
        lists.isPaused = true
        #expect(lists.nextDeadline == nil)
        lists.timePassed(now: now)
        lists.isPaused = false
        #expect(lists.nextDeadline == now)
    }

    @Test("a kept list is used and not asked for again, until the provider's name is given to another region")
    func kept() throws {
        let lists = NodeLists(stand.resolving)
        try stand.setProviders(providers(region: "cn"), now: now)
        lists.begin([note: "\(Clock.wallMilliseconds()) 139450/cn 203.0.113.1"], now: now)
        #expect(dialled == ["203.0.113.1", "192.0.2.1"], "the settings' address stands behind the list")
        #expect(try #require(lists.nextDeadline) > now + .seconds(3600))
        try stand.setProviders(providers(region: "sg"), now: now)
        lists.begin(now: now)
        #expect(dialled == ["192.0.2.1"])
        #expect(lists.nextDeadline == now)
    }

    @Test("a kept list that asks not to be used holds for a provider that is new, too")
    func disabled() throws {
        let lists = NodeLists(stand.resolving)
        try stand.setProviders(providers(), now: now)
        lists.begin([note: "\(Clock.wallMilliseconds()) 139450/global disable"], now: now)
        let provider = try #require(stand.resolving.providers.providers.first)
        #expect(stand.resolving.state(of: provider, now: now) == .throttled)
    }
}
