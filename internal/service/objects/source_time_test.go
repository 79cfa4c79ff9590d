package objects_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/service/objects"
)

func TestSourceBegun(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 12, 0, 0, int(345*time.Millisecond), time.UTC)
	key := objects.NewSource(id, at)
	if begun, ok := objects.SourceBegun(key); !ok || !begun.Equal(at) {
		t.Errorf("the copy %s began at %s, %t; want %s", key, begun, ok, at)
	}
	if again := objects.NewSource(id, at); again == key {
		t.Error("two copies have one key")
	}
	_, _, rest, _ := objects.Parse(key)
	if u, err := uuid.Parse(rest); err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 {
		t.Errorf("%s is %v, %v; want a UUID of version 7", rest, u.Version(), err)
	}
	now := time.Now() // earlier versions made keys with the library
	if begun, ok := objects.SourceBegun(objects.Source(id, uuid.Must(uuid.NewV7()).String())); !ok || begun.Sub(now).Abs() > time.Minute {
		t.Errorf("a key of an earlier version began at %s, %t", begun, ok)
	}
	for _, other := range []string{objects.Source(id, "x"), objects.Source(id, uuid.NewString()), objects.Upload(id), "", "source/"} {
		if begun, ok := objects.SourceBegun(other); ok {
			t.Errorf("%q began at %s", other, begun)
		}
	}
}
