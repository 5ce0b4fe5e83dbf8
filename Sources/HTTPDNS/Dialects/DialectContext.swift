// The inputs of a request besides question and settings.

package import DNSWire
package import Settings

/// Per-message inputs beside question and settings; dialects have no clock or random source.
package struct DialectContext: Sendable {
    /// The provider's time in milliseconds since 1970, without leap seconds.
    package let unixMilliseconds: Int64
    /// Returns 16 unpredictable bytes for this message only, for initialisation vectors and nonces. Most dialects need
    /// none.
    package let makeNonce: @Sendable () -> [UInt8]
    /// The subnet of the clients; nil: the provider uses the request's source address.
    package let clientSubnet: Prefix?
    /// The parameters of a vendor's custom resolution. A dialect sends those that the vendor documents, and ignores
    /// others.
    package let parameters: Settings.RequestParameters

    package init(
        unixMilliseconds: Int64, nonce: @escaping @autoclosure @Sendable () -> [UInt8], clientSubnet: Prefix? = nil,
        parameters: Settings.RequestParameters = .init()
    ) {
        self.unixMilliseconds = unixMilliseconds
        makeNonce = nonce
        self.clientSubnet = clientSubnet
        self.parameters = parameters
    }

    package func withClientSubnet(_ subnet: Prefix) -> DialectContext {
        DialectContext(
            unixMilliseconds: unixMilliseconds, nonce: makeNonce(), clientSubnet: subnet, parameters: parameters)
    }
}
