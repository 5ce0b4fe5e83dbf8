// The one place that says which release this is.

package let programVersion = "0.1.0"
