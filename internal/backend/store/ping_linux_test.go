package store_test

import (
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/rig"
)

// What is read goes on, so nothing else would tell a load balancer.
func TestPingOfADiskThatBecameReadOnly(t *testing.T) {
	t.Parallel()
	dir := rig.SmallDisk(t)
	st := open(t, filepath.Join(dir, "spool.db"))
	ping := func() error { return st.Ping(t.Context()) }
	if err := ping(); err != nil {
		t.Fatal(err)
	}
	free := rig.Fill(t, dir)
	if err := ping(); err != nil {
		t.Errorf("on a full disk, where deletions go on: %v", err)
	}
	free()
	end := rig.MakeReadOnly(t, dir)
	wantError(t, ping(), video.Unavailable, "database_unavailable")
	end()
	if err := ping(); err != nil {
		t.Errorf("on a disk that can be written again: %v", err)
	}
}
