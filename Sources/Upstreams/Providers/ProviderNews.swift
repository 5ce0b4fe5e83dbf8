// The by-products of requests to providers: for the plans of address lists, and for the counts of billed questions.

package import DNSWire
package import Resolver

package enum ProviderNews {
    /// An address was unreachable, or led to the wrong node.
    case addressFailed(ProviderID, isWrongNode: Bool)
    /// A reply to read for its list of service nodes.
    case nodes(ProviderID, HTTPReply)
    /// Questions that may have reached the account of the provider with this name, by the cause of their fetches.
    case billed(provider: String, [RequestCause])
}
