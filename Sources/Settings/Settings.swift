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
    package struct Control: Equatable, Sendable { package var socket: String }
    package struct Log: Equatable, Sendable { package var level: LogLevel }
    package var server: Server
    package var providers: [Provider]
    package var systemResolver: SystemResolver
    package var cache: Cache
    package var control: Control
    package var log: Log
    package static let defaults = Settings(server: Server(listen: [ListenAddress(address: .v4(0x7f000001), port: 5300)], threads: 1, allow: [Prefix("127.0.0.0/8")!]), providers: [Provider(name: "lab", dialectName: "json", url: ProviderURL(isHTTPS: false, host: "127.0.0.1", port: 8053, path: "/resolve"), addresses: [.v4(0x7f000001)], account: "")], systemResolver: SystemResolver(servers: [ListenAddress(address: .v4(0x7f000001), port: 5399)], resolvConf: "/etc/resolv.conf"), cache: Cache(sizeBytes: 32 << 20, minTTL: .zero, maxTTL: .seconds(86400), negativeMaxTTL: .seconds(600)), control: Control(socket: "/tmp/hd/ctl.sock"), log: Log(level: .info))
    package static func parse(bytes: [UInt8], file: String) throws(SettingsError) -> Settings { .defaults }
    package var effectiveTOML: String { "" }
    package func changesNeedingRestart(from: Settings) -> [String] { [] }
}
package struct SettingsError: Error { package var complaints: [Complaint] }
package struct Complaint: CustomStringConvertible, Sendable { package var description: String { "" } }
package enum LogLevel: Int, Comparable, Sendable { case error, warning, info, debug
  package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue } }
