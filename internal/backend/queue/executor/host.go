package executor

import "os"

// Host names this machine for the operator who lists the workers.
func Host() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "unknown"
	}
	return host[:min(len(host), 60)]
}
