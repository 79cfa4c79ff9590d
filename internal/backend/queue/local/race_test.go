//go:build race

package local

import "flag"

// Under the race detector SQLite, which is translated to Go, is many times slower.
// More random checks of the contract on demand: -rapid.checks=500.
func init() {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
