package pipeline

import (
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// remote is a storage on other machines.
type remote struct{ blob.Store }

func (remote) Capabilities() blob.Capabilities { return blob.Capabilities{} }

// local is a storage on this machine.
type local struct{ blob.Store }

func (local) Capabilities() blob.Capabilities {
	return blob.Capabilities{Local: true, Free: func() (uint64, error) { return 1 << 40, nil }}
}

func TestSpaceOnTheMachineThatWorks(t *testing.T) {
	t.Parallel()
	v := video.Video{Source: video.Source{Size: 1000}, Plan: &video.Plan{
		Head:   []video.Span{{From: 0, To: 10}},
		Chunks: []video.Chunk{{Spans: []video.Span{{From: 100, To: 200}}}, {}},
	}, Resolutions: []video.Resolution{{Name: "240p", Status: video.Ready, SizeBytes: 300}}}
	tests := []struct {
		name    string
		blobs   blob.Store
		task    queue.Task
		scratch uint64
		full    bool
	}{
		{"a whole source fits", remote{}, queue.Task{Kind: queue.Inspect}, 1050, false},
		{"a whole source does not fit beside the reserve", remote{}, queue.Task{Kind: queue.Inspect}, 1049, true},
		{"a part of a source fits", remote{}, queue.Task{Kind: queue.Encode}, 160, false},
		{"a part of a source does not fit", remote{}, queue.Task{Kind: queue.Encode}, 159, true},
		{"a chunk whose place is not known needs all", remote{}, queue.Task{Kind: queue.Encode, Number: 1}, 160, true},
		{"a source that is here needs nothing", local{}, queue.Task{Kind: queue.Inspect}, 50, false},
		{"the pictures need a rendition file", remote{}, queue.Task{Kind: queue.Pictures}, picturesSize + 349, true},
		{"which fits", remote{}, queue.Task{Kind: queue.Pictures}, picturesSize + 350, false},
		{"and is here", local{}, queue.Task{Kind: queue.Pictures}, picturesSize + 50, false},
		{"the reserve is needed in any case", local{}, queue.Task{Kind: queue.Inspect}, 49, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tasks := &Tasks{blobs: tt.blobs, reserve: diskspace.NewReserve(tt.blobs, 50)}
			err := tasks.CheckSpace(t.Context(), tt.task, v, tt.scratch)
			if full := video.KindOf(err) == video.InsufficientStorage; full != tt.full || (err != nil) != full {
				t.Errorf("CheckSpace = %v; want full: %v", err, tt.full)
			}
		})
	}
}
