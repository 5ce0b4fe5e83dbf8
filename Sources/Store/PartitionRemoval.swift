// A removal of the entries of one network from the file, all or the latest ones.

package struct PartitionRemoval: Equatable, Sendable {
    package let partition: UInt32
    /// The earliest time of entries that are removed, since 1970; older entries stay.
    package let storedSinceMilliseconds: Int64

    package init(_ partition: UInt32, storedSinceMilliseconds: Int64 = .min) {
        self.partition = partition
        self.storedSinceMilliseconds = storedSinceMilliseconds
    }
}
