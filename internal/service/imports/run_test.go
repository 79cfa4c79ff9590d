package imports

import (
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestATenantHasHalfOfTheSlots(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ slots, each, all int }{{16, 8, 16}, {5, 2, 5}, {3, 1, 3}, {1, 1, 1}} {
		s := New(Config{Max: tt.slots}, Parts{})
		taken := func(tenants ...video.Tenant) (n int) {
			for range tt.slots + 1 {
				for _, name := range tenants {
					if s.reserve(name) {
						n++
					}
				}
			}
			return n
		}
		if n := taken("a"); n != tt.each || s.atCapacity() != (n == tt.slots) {
			t.Errorf("of %d slots a tenant has %d; want %d", tt.slots, n, tt.each)
		}
		if n := taken("b", "c", "d"); n != tt.all-tt.each || !s.atCapacity() {
			t.Errorf("of %d slots, %d of which are taken, others have %d; want all", tt.slots, tt.each, n)
		}
		s.release("a")
		if n := taken("a", "d"); n != 1 {
			t.Errorf("%d slots are taken after one became free", n)
		}
	}
}
