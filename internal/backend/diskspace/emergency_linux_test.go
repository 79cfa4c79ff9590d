package diskspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/test/rig"
)

func TestEmergencySpace(t *testing.T) {
	t.Parallel()
	dir := rig.SmallDisk(t)
	e := diskspace.NewEmergency(dir, 16<<20)
	free := func() uint64 {
		t.Helper()
		n, err := diskspace.Free(dir)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := free()
	for range 2 { // the second time it is there already
		if err := e.Hold(); err != nil {
			t.Fatal(err)
		}
	}
	if took := before - free(); took < diskspace.EmergencySize || took > diskspace.EmergencySize+64<<10 {
		t.Errorf("the file takes %d bytes; want %d", took, diskspace.EmergencySize)
	}
	if err := e.ReleaseIfFull(); err != nil || free() > before-diskspace.EmergencySize {
		t.Errorf("with space left, the file is given up (%v)", err)
	}

	giveBack := rig.Fill(t, dir)
	if err := e.ReleaseIfFull(); err != nil || free() < diskspace.EmergencySize {
		t.Errorf("on a full disk, %d bytes are free (%v); want those of the file", free(), err)
	}
	if e.Release() {
		t.Error("the space is given back twice")
	}
	if err := e.Hold(); err != nil || free() < diskspace.EmergencySize {
		t.Errorf("the file takes what was just given back (%v)", err)
	}
	giveBack()
	if err := e.Hold(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, diskspace.EmergencyFile)); err != nil || info.Size() != diskspace.EmergencySize {
		t.Errorf("there is space again, and the file is %v, %v", info, err)
	}
}

func TestNoEmergencySpaceWithoutAReserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := diskspace.NewEmergency(dir, 0).Hold(); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files = %v, %v; want none", files, err)
	}
	if err := diskspace.NewEmergency(filepath.Join(dir, "missing"), 1).ReleaseIfFull(); err != nil {
		t.Errorf("before the first start: %v", err)
	}
}
