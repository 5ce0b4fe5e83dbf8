// A fetch that the fleet takes over.

package import DNSWire
package import Resolver

package struct FleetRequest {
    package let id: FetchID
    package let question: Question
    package let provider: ProviderID
    package let purpose: FetchPurpose

    package init(id: FetchID, question: Question, provider: ProviderID, purpose: FetchPurpose) {
        (self.id, self.question, self.provider, self.purpose) = (id, question, provider, purpose)
    }
}
