package limit

import (
	"testing"
	"time"
)

func TestRates(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	r := NewRates[string](2, 10, func() time.Time { return now })
	if !r.Allow("a", 4) || !r.Allow("a", 6) || r.Left("a") != 0 {
		t.Errorf("of a burst of 10, %g are left", r.Left("a"))
	}
	if r.Allow("a", 1) {
		t.Error("more than the burst is allowed")
	}
	if !r.Allow("b", 10) {
		t.Error("another principal is refused")
	}
	now = now.Add(2 * time.Second)
	if r.Allow("a", 5) || r.Left("a") != 4 || !r.Allow("a", 4) {
		t.Errorf("two seconds later %g are left; want 4, and a refusal takes none", r.Left("a"))
	}
}

// Rates remember a bounded number of principals, but not at the cost of the one that goes on.
func TestRatesOfManyPrincipals(t *testing.T) {
	t.Parallel()
	const burst = 100
	now := time.Unix(1000, 0)
	r := NewRates[int](1, burst, func() time.Time { return now })
	refused := 0
	for i := range 3 * maxPrincipals {
		if !r.Allow(i, 1) {
			t.Fatalf("principal %d is refused", i)
		}
		if i%100 == 0 && !r.Allow(-1, 1) {
			refused++
		}
	}
	if want := 3*maxPrincipals/100 - burst; refused != want {
		t.Errorf("%d of %d were refused to the one that goes on; want %d", refused, 3*maxPrincipals/100, want)
	}
}
