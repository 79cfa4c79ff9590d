//go:build unix && !linux

package launch

// Order has nothing to say: there is no sandbox on this system.
type Order struct{ Policy Policy }
