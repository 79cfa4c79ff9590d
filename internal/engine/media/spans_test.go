package media

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// thrifty reads parts of the smallest files.
func thrifty(tools *Tools) *Tools {
	t := shortCuts(tools)
	t.read = reading{least: 1, gap: 1 << 10, grain: 8 << 10}
	return t
}

// sparseCases are films of which parts can be read.
var sparseCases = []struct {
	name, file, picture string
	args                []string
}{
	{"index at the end, open groups", "a.mp4", noisy, x264("keyint=25:bframes=3:open-gop=1:scenecut=0")},
	{"index first, variable frame rate", "a.mp4", noisy + ",select='lt(mod(n,7),4)'", append(x264("keyint=20:bframes=3"), "-fps_mode", "passthrough", "-movflags", "+faststart")},
	{"more sound than pictures, B-frames that refer to each other", "a.mov", noisy, append(x264("keyint=30:bframes=8:b-pyramid=normal:ref=8:b-adapt=0"), "-af", "apad=whole_dur=11", "-ac", "2", "-c:a", "pcm_s24le", "-ar", "96000")},
	{"fragments", "a.mp4", noisy, append(x264("keyint=25:bframes=3"), "-movflags", "frag_keyframe+empty_moov+default_base_moof")},
	{"HEVC with open groups", "a.mp4", noisy, []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:open-gop=1:bframes=4"}},
	{"Matroska with open groups", "a.mkv", noisy, append(x264("keyint=25:bframes=3:open-gop=1:scenecut=0"), "-cluster_time_limit", "700")},
	{"Matroska without B-frames, index first", "a.mkv", noisy, append(x264("keyint=25:bframes=0"), "-cluster_time_limit", "500", "-reserve_index_space", "1000")},
	{"WebM", "a.webm", noisy, []string{"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-b:v", "2M", "-cluster_time_limit", "500"}},
}

// noisy is a picture that takes many bytes.
const noisy = "testsrc2=s=128x96:r=25:d=11,noise=alls=40:allf=t"

func x264(params string) []string {
	return []string{"-c:v", "libx264", "-preset", "veryfast", "-x264-params", params}
}

// TestPartsOfASourceGiveTheSameFilm encodes every chunk, and makes every
// thumbnail, from a copy that has no more than the bytes noted in the plan.
func TestPartsOfASourceGiveTheSameFilm(t *testing.T) {
	t.Parallel()
	tools := thrifty(newTools(t))
	for _, tt := range sparseCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := clip(t, tt.file, tt.picture, tt.args...)
			whole, part := newJob(t, source), newJob(t, source)
			part.Holes = true
			plan := planParts(t, tools, whole)
			for n := range plan.Chunks {
				if n != 0 && n != 2 && n != len(plan.Chunks)-1 {
					continue // these tell enough
				}
				leave(t, part.Source, source, ChunkSpans(plan, n))
				want, err := tools.EncodeChunk(t.Context(), whole, plan, n, nil)
				got, err2 := tools.EncodeChunk(t.Context(), part, plan, n, nil)
				sameFiles(t, got, err2, want, err)
			}
			leave(t, part.Source, source, ThumbnailSpans(plan))
			want, err := tools.Thumbnails(t.Context(), whole, plan, nil)
			got, err2 := tools.Thumbnails(t.Context(), part, plan, nil)
			sameFiles(t, got, err2, want, err)
		})
	}
}

// planParts makes a plan of three chunks or more that can be read in parts.
func planParts(t *testing.T, tools *Tools, job Job) *video.Plan {
	t.Helper()
	plan, err := tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"144p"}, Thumbnails: []float64{6.1, 6.3}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Chunks) < 3 || plan.Head == nil {
		t.Fatalf("the plan has %d chunks and the head %v; want 3 or more, and a head", len(plan.Chunks), plan.Head)
	}
	for n := range plan.Chunks {
		if ChunkSpans(plan, n) == nil {
			t.Errorf("chunk %d takes the whole file", n)
		}
	}
	if ThumbnailSpans(plan) == nil || SampleSpans(plan) == nil {
		t.Error("thumbnails or samples take the whole file")
	}
	return plan
}

// TestAHoleIsNeverTakenForTheFilm takes away what is needed.
func TestAHoleIsNeverTakenForTheFilm(t *testing.T) {
	t.Parallel()
	tools := thrifty(newTools(t))
	for _, file := range []string{"a.mp4", "a.mkv"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			source := clip(t, file, noisy, append(x264("keyint=25:bframes=3"), "-cluster_time_limit", "500")...)
			job := newJob(t, source)
			plan := planParts(t, tools, job)
			job.Holes = true
			last := len(plan.Chunks) - 1
			chunk := plan.Chunks[last].Spans[0]
			cut := (chunk.From + chunk.To) / 2
			for name, left := range map[string][]video.Span{
				"a part of the chunk": {{From: 0, To: cut}, {From: cut + 20_000, To: chunk.To + 1<<20}},
				"all but the head":    plan.Head,
				"all":                 {},
			} {
				leave(t, job.Source, source, left)
				if _, err := tools.EncodeChunk(t.Context(), job, plan, last, nil); !errors.Is(err, ErrHole) {
					t.Errorf("without %s, EncodeChunk = %v; want ErrHole", name, err)
				}
			}
			leave(t, job.Source, source, plan.Head)
			if _, err := tools.Thumbnails(t.Context(), job, plan, nil); !errors.Is(err, ErrHole) {
				t.Errorf("without the shots, Thumbnails = %v; want ErrHole", err)
			}
		})
	}
}

func TestSourcesThatAreReadWhole(t *testing.T) {
	t.Parallel()
	tools := newTools(t)
	for _, tt := range []struct {
		name, file string
		tools      *Tools
		args       []string
	}{
		{"a small file", "a.mp4", shortCuts(tools), nil},
		{"a transport stream", "a.ts", thrifty(tools), nil},
		{"fragments with an index, where ffmpeg seeks anywhere", "a.mp4", thrifty(tools), []string{"-movflags", "frag_keyframe+dash+global_sidx"}},
		{"a live recording without an index", "a.mkv", thrifty(tools), []string{"-live", "1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := newJob(t, clip(t, tt.file, noisy, append(x264("keyint=25"), tt.args...)...))
			plan, err := tt.tools.Inspect(t.Context(), job, Ask{Names: []video.Name{"144p"}, Thumbnails: []float64{1}})
			if err != nil {
				t.Fatal(err)
			}
			if plan.Head != nil || ChunkSpans(plan, 0) != nil || ThumbnailSpans(plan) != nil || SampleSpans(plan) != nil {
				t.Errorf("head %v, chunk %v; want none", plan.Head, plan.Chunks[0].Spans)
			}
		})
	}
}

// leave makes path a file of the size of source that has only some of its bytes.
func leave(t *testing.T, path, source string, spans []video.Span) {
	t.Helper()
	from, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	to, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := to.Truncate(info.Size()); err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		if _, err := io.Copy(io.NewOffsetWriter(to, s.From), io.NewSectionReader(from, s.From, min(s.To, info.Size())-s.From)); err != nil {
			t.Fatal(err)
		}
	}
}

func sameFiles(t *testing.T, got []Output, gotErr error, want []Output, wantErr error) {
	t.Helper()
	if gotErr != nil || wantErr != nil || len(got) != len(want) || len(got) == 0 {
		t.Fatalf("a part made %d files, %v; the whole made %d, %v", len(got), gotErr, len(want), wantErr)
	}
	for i := range got {
		a, err := os.ReadFile(got[i].Path)
		b, err2 := os.ReadFile(want[i].Path)
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is another file when it is made from a part (%v)", filepath.Base(want[i].Path), err)
		}
	}
}
