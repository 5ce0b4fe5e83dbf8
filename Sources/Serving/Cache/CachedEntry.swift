// Copies of what the cache has of an answer, for readers that hold no lock.

package import DNSWire

/// A copy of a cache entry.
package struct CachedEntry: Sendable {
    /// The question; its name is in lower case.
    package let question: Question
    package let partition: Partition
    package let sourceClass: SourceClass
    package let answer: RenderedAnswer
    package let storedAtMilliseconds: Int64
    package let lifetimeSeconds: UInt32
    /// Replies since the resolver last reset the count.
    package let hits: UInt16
    /// A reply found the entry due, and a refresh was requested.
    package let refreshWasAsked: Bool
}

/// Storage time and lifetime of a cached answer.
package struct KeptTimes: Equatable, Sendable {
    /// Milliseconds since boot; negative if stored before the boot.
    package let storedAtMilliseconds: Int64
    package let lifetimeSeconds: UInt32
}
