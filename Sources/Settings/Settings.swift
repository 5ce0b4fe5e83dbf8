package import DNSWire

package struct Settings: Equatable, Sendable {
    package struct Server: Equatable, Sendable {
        package var listen: [ListenAddress]
        package var threads: Int
        package var allow: [Prefix]
    }
    package struct ListenAddress: Equatable, Sendable { package var address: Address; package var port: UInt16 }
    package struct ProviderURL: Equatable, Sendable { package var isHTTPS: Bool; package var host: String; package var port: UInt16; package var path: String }
    package struct Provider: Equatable, Sendable {
        package var name, dialectName: String
        package var url: ProviderURL
        package var addresses: [Address]
        package var sni, verifyName, host, caFile: String?
        package var account: String
    }
    package struct SystemResolver: Equatable, Sendable { package var servers: [ListenAddress]; package var resolvConf: String }
    package struct Cache: Equatable, Sendable { package var sizeBytes: Int; package var minTTL, maxTTL, negativeMaxTTL: Duration }
    package var server: Server
    package var providers: [Provider]
    package var systemResolver: SystemResolver
    package var cache: Cache
    package var controlSocket: String
    package var logLevel: LogLevel
}
package enum LogLevel: Int, Comparable, Sendable { case error, warning, info, debug
  package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue } }
