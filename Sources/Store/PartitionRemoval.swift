// A removal of the entries of one network from the file, all or the latest ones.

package struct PartitionRemoval: Equatable, Sendable {
    package let partition: UInt32
    /// Older entries stay. Since 1970.
    package let storedSinceMilliseconds: Int64

    package init(_ partition: UInt32, storedSinceMilliseconds: Int64 = .min) {
        self.partition = partition
        self.storedSinceMilliseconds = storedSinceMilliseconds
    }
}
