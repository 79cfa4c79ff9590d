package store

import (
	"reflect"
	"testing"
)

// A transaction is handed to every service. What only reads, or is a transaction
// by itself, belongs to Store or to one of its parts.
func TestTxStaysSmall(t *testing.T) {
	t.Parallel()
	const most = 36
	if n := reflect.TypeFor[*Tx]().NumMethod(); n > most {
		t.Errorf("Tx has %d exported methods, want at most %d", n, most)
	}
}
