// A fetch that the fleet takes over.

import DNSWire
import Resolver

package struct FleetRequest {
    let id: FetchID
    let question: Question
    let provider: ProviderID
    let purpose: FetchPurpose
}
