// Which changes of the network begin an epoch, when, and for what reason.

import DNSWire
import Network
import Testing

@Suite struct EpochTests {
    @Test("another network is another epoch", arguments: EpochStories.moves)
    func moves(_ story: EpochStory) throws { try story.play() }

    @Test("noise begins no epoch", arguments: EpochStories.noise)
    func noise(_ story: EpochStory) throws { try story.play() }

    @Test("a way out that was gone", arguments: EpochStories.gaps)
    func gaps(_ story: EpochStory) throws { try story.play() }

    @Test("a gateway that answers early, late or never", arguments: EpochStories.gateways)
    func gateways(_ story: EpochStory) throws { try story.play() }

    @Test("a wake is an epoch", arguments: EpochStories.wakes)
    func wakes(_ story: EpochStory) throws { try story.play() }

    @Test("while a change is under way, the tables may define the network already")
    func candidate() throws {
        var machine = Machine()
        try machine.run("join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01")
        var run = EpochRun(tables: machine.tables, searchDomains: [])
        let former = run.epochs.identity
        #expect(run.epochs.candidate == nil, "no change is under way")
        let steps: [(Int, String, String?)] = [
            (1000, "leave eth0", nil), (1010, "join wlan0 wifi 10.2.0.2/24 via 10.2.0.1", nil),
            (1015, "neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0", "10.2.0.1"),
        ]
        for (time, command, gateway) in steps {
            try machine.run(command)
            run.advance(to: time)
            run.take(.tables(machine.tables))
            #expect(run.epochs.candidate?.gateway?.description == gateway, "\(command)")
            #expect(run.epochs.identity == former)
        }
        let (candidate, stepsSoFar) = (run.epochs.candidate, run.epochs.steps)
        run.advance(to: 2000)
        #expect(run.epochs.identity == candidate)
        #expect(run.epochs.candidate == nil)
        #expect(stepsSoFar == 1, "the gateway's answer is no step of its own")
    }
}
