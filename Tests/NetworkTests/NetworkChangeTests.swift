// The changes of the kernel's tables that count as a change of the network, with their times and causes.

import DNSWire
import Network
import Testing

@Suite struct NetworkChangeTests {
    @Test("another network is a change", arguments: NetworkChangeStories.moves)
    func moves(_ story: NetworkChangeStory) throws { try story.play() }

    @Test("noise is no change", arguments: NetworkChangeStories.noise)
    func noise(_ story: NetworkChangeStory) throws { try story.play() }

    @Test("a way out that was gone", arguments: NetworkChangeStories.gaps)
    func gaps(_ story: NetworkChangeStory) throws { try story.play() }

    @Test("a gateway that answers early, late or never", arguments: NetworkChangeStories.gateways)
    func gateways(_ story: NetworkChangeStory) throws { try story.play() }

    @Test("a wake is a change", arguments: NetworkChangeStories.wakes)
    func wakes(_ story: NetworkChangeStory) throws { try story.play() }

    @Test("while a change is under way, the tables may define the network already")
    func candidate() throws {
        var machine = Machine()
        try machine.run("join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01")
        var run = NetworkChangeRun(tables: machine.tables, searchDomains: [])
        let former = run.changes.identity
        #expect(run.changes.candidate == nil, "no change is under way")
        let steps: [(Int, String, String?)] = [
            (1000, "leave eth0", nil), (1010, "join wlan0 wifi 10.2.0.2/24 via 10.2.0.1", nil),
            (1015, "neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0", "10.2.0.1"),
        ]
        for (time, command, gateway) in steps {
            try machine.run(command)
            run.advance(to: time)
            run.take(.tables(machine.tables))
            #expect(run.changes.candidate?.gateway?.description == gateway, "\(command)")
            #expect(run.changes.identity == former)
        }
        let (candidate, stepsSoFar) = (run.changes.candidate, run.changes.steps)
        run.advance(to: 2000)
        #expect(run.changes.identity == candidate)
        #expect(run.changes.candidate == nil)
        #expect(stepsSoFar == 1, "the gateway's answer is no step of its own")
    }
}
