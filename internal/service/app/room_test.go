package app

import (
	"bytes"
	"io"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// elsewhere is a storage on other machines.
type elsewhere struct{ blob.Store }

func (elsewhere) Capabilities() blob.Capabilities { return blob.Capabilities{} }

// here is one on this machine.
type here struct{ blob.Store }

func (here) Capabilities() blob.Capabilities {
	return blob.Capabilities{Local: true, Free: func() (uint64, error) { return 1 << 40, nil }}
}

func TestRoomOnTheMachineThatWorks(t *testing.T) {
	t.Parallel()
	v := video.Video{Source: video.Source{Size: 1000}, Plan: &video.Plan{
		Head:   []video.Span{{From: 0, To: 10}},
		Chunks: []video.Chunk{{Spans: []video.Span{{From: 100, To: 200}}}, {}},
	}}
	tests := []struct {
		name    string
		blobs   blob.Store
		task    queue.Task
		scratch uint64
		full    bool
	}{
		{"a whole source fits", elsewhere{}, queue.Task{Kind: queue.Inspect}, 1050, false},
		{"a whole source does not fit beside the reserve", elsewhere{}, queue.Task{Kind: queue.Inspect}, 1049, true},
		{"a part of a source fits", elsewhere{}, queue.Task{Kind: queue.Encode}, 160, false},
		{"a part of a source does not fit", elsewhere{}, queue.Task{Kind: queue.Encode}, 159, true},
		{"a chunk whose place is not known needs all", elsewhere{}, queue.Task{Kind: queue.Encode, Number: 1}, 160, true},
		{"a source that is here needs nothing", here{}, queue.Task{Kind: queue.Inspect}, 50, false},
		{"the reserve is needed in any case", here{}, queue.Task{Kind: queue.Inspect}, 49, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &App{cfg: Config{MinFree: 50}, blobs: tt.blobs}
			err := a.RoomFor(t.Context(), tt.task, v, tt.scratch)
			if full := video.KindOf(err) == video.InsufficientStorage; full != tt.full || (err != nil) != full {
				t.Errorf("RoomFor = %v; want full: %v", err, tt.full)
			}
		})
	}
}

// filling is a storage on this machine that is full at the third look.
type filling struct {
	here
	looks *int
}

func (f filling) Capabilities() blob.Capabilities {
	return blob.Capabilities{Local: true, Free: f.free}
}

func (f filling) free() (uint64, error) {
	if *f.looks++; *f.looks > 2 {
		return 49, nil
	}
	return 50, nil
}

func TestReadingWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		blobs blob.Store
		size  int64
		want  int64
		full  bool
	}{
		{"enough for all", filling{looks: new(int)}, 1.5 * roomEvery, 1.5 * roomEvery, false},
		{"others fill the disk", filling{looks: new(int)}, 10 * roomEvery, 2 * roomEvery, true},
		{"a storage elsewhere", elsewhere{}, 10 * roomEvery, 10 * roomEvery, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &App{cfg: Config{MinFree: 50}, blobs: tt.blobs}
			film := bytes.NewReader(make([]byte, tt.size))
			got, err := io.Copy(io.Discard, struct{ io.Reader }{a.WhileRoom(struct{ io.Reader }{film})})
			if full := video.KindOf(err) == video.InsufficientStorage; got != tt.want || full != tt.full || (err != nil) != full {
				t.Errorf("%d bytes are read (%v); want %d, full: %v", got, err, tt.want, tt.full)
			}
		})
	}
}
