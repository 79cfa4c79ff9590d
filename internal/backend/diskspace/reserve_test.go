package diskspace

import (
	"bytes"
	"io"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/video"
)

// remote is a storage on other machines.
type remote struct{ blob.Store }

func (remote) Capabilities() blob.Capabilities { return blob.Capabilities{} }

// filling is a storage on this machine that is full at the third check.
type filling struct {
	blob.Store
	checks *int
}

func (f filling) Capabilities() blob.Capabilities {
	return blob.Capabilities{Local: true, Free: f.free}
}

func (f filling) free() (uint64, error) {
	if *f.checks++; *f.checks > 2 {
		return 49, nil
	}
	return 50, nil
}

func TestReaderStopsAtTheReserve(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		blobs blob.Store
		size  int64
		want  int64
		full  bool
	}{
		{"enough for all", filling{checks: new(int)}, 1.5 * checkEvery, 1.5 * checkEvery, false},
		{"others fill the disk", filling{checks: new(int)}, 10 * checkEvery, 2 * checkEvery, true},
		{"a storage elsewhere", remote{}, 10 * checkEvery, 10 * checkEvery, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := bytes.NewReader(make([]byte, tt.size))
			r := NewReserve(tt.blobs, 50).Reader(struct{ io.Reader }{src})
			got, err := io.Copy(io.Discard, struct{ io.Reader }{r})
			if full := video.KindOf(err) == video.InsufficientStorage; got != tt.want || full != tt.full || (err != nil) != full {
				t.Errorf("%d bytes are read (%v); want %d, full: %v", got, err, tt.want, tt.full)
			}
		})
	}
}
