// The version of all three programs: one release, one number (CHANGELOG.md).

package enum Version {
    package static let current = "0.1.0"
}
