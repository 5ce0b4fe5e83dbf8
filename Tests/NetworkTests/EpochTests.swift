// Which changes of the network begin an epoch, when, and for what reason.

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
}
