package encode

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// sparseEngine reads parts of the smallest files.
func sparseEngine(tools *engine) *engine {
	c := *tools
	c.Inspector = plan.NewInspector(probe.New(tools.run, probe.Config{MinSize: 1, Grain: 8 << 10}), plan.Config{Chunking: twoSeconds, Reading: plan.Reading{Gap: 1 << 10}})
	return &c
}

// sparseCases are videos of which parts can be read.
var sparseCases = []struct {
	name, file string
	args       []string
}{
	{"index at the end, open groups", "a.mp4", x264("keyint=25:bframes=3:open-gop=1:scenecut=0")},
	{"index first, variable frame rate", "a.mp4", append(x264("keyint=20:bframes=3"), "-vf", "select='lt(mod(n,7),4)'", "-fps_mode", "passthrough", "-movflags", "+faststart")},
	{"more audio than frames, B-frames that refer to each other", "a.mov", append(x264("keyint=30:bframes=8:b-pyramid=normal:ref=8:b-adapt=0"), "-af", "apad=whole_dur=11", "-ac", "2", "-c:a", "pcm_s24le", "-ar", "96000")},
	{"fragments", "a.mp4", append(x264("keyint=25:bframes=3"), "-movflags", "frag_keyframe+empty_moov+default_base_moof")},
	{"HEVC with open groups", "a.mp4", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:open-gop=1:bframes=4"}},
	{"Matroska with open groups", "a.mkv", append(x264("keyint=25:bframes=3:open-gop=1:scenecut=0"), "-cluster_time_limit", "700")},
	{"Matroska without B-frames, index first", "a.mkv", append(x264("keyint=25:bframes=0"), "-cluster_time_limit", "500", "-reserve_index_space", "1000")},
	{"WebM", "a.webm", []string{"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-b:v", "2M", "-cluster_time_limit", "500"}},
}

// noisy is a frame that takes many bytes.
const noisy = "testsrc2=s=96x72:r=25:d=11,noise=alls=40:allf=t"

func x264(params string) []string {
	return []string{"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", params}
}

// TestPartsOfASourceGiveTheSameVideo encodes every chunk, and makes every
// thumbnail, from a copy that has no more than the bytes noted in the p.
func TestPartsOfASourceGiveTheSameVideo(t *testing.T) {
	t.Parallel()
	tools := sparseEngine(newEngine(t))
	clips := outputs{rare: []string{"HEVC with open groups", "Matroska without B-frames, index first", "WebM"}} // as Matroska
	for _, tt := range sparseCases {
		clips.add(tt.name, tt.file, tt.args...)
	}
	paths := enginetest.Clips(t, noisy, clips.all...)
	for _, tt := range sparseCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := clips.of(t, paths, tt.name)
			whole, part := enginetest.NewJob(t, source), enginetest.NewJob(t, source)
			part.Sparse = true
			p := planParts(t, tools, whole)
			for n := range p.Chunks {
				if n != 0 && n != 2 && n != len(p.Chunks)-1 {
					continue // these tell enough
				}
				keepOnly(t, part.Source, source, plan.ChunkSpans(p, n))
				want, err := tools.EncodeChunk(t.Context(), whole, p, n, nil)
				got, err2 := tools.EncodeChunk(t.Context(), part, p, n, nil)
				sameFiles(t, got, err2, want, err)
			}
			keepOnly(t, part.Source, source, plan.ThumbnailSpans(p))
			want, err := tools.Thumbnails(t.Context(), whole, p, nil)
			got, err2 := tools.Thumbnails(t.Context(), part, p, nil)
			sameFiles(t, got, err2, want, err)
			keepOnly(t, part.Source, source, plan.PosterSpans(p))
			if poster, _, err := tools.Poster(t.Context(), part, p, nil); err != nil || poster == "" {
				t.Errorf("the poster is %q: %v", poster, err)
			}
		})
	}
}

// planParts makes a plan of three chunks or more that can be read in parts.
func planParts(t *testing.T, tools *engine, job ffmpeg.Job) *video.Plan {
	t.Helper()
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{6.1, 6.3}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Chunks) < 3 || p.Head == nil {
		t.Fatalf("the plan has %d chunks and the head %v; want 3 or more, and a head", len(p.Chunks), p.Head)
	}
	for n := range p.Chunks {
		if plan.ChunkSpans(p, n) == nil {
			t.Errorf("chunk %d takes the whole file", n)
		}
	}
	if plan.ThumbnailSpans(p) == nil || plan.SampleSpans(p) == nil || plan.PosterSpans(p) == nil {
		t.Error("thumbnails, samples or poster take the whole file")
	}
	return p
}

// TestAMissingPartIsNeverTakenForTheVideo takes away what is needed.
func TestAMissingPartIsNeverTakenForTheVideo(t *testing.T) {
	t.Parallel()
	tools := sparseEngine(newEngine(t))
	for _, file := range []string{"a.mp4", "a.mkv"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			source := enginetest.Clip(t, file, noisy, append(x264("keyint=25:bframes=3"), "-cluster_time_limit", "500")...)
			job := enginetest.NewJob(t, source)
			p := planParts(t, tools, job)
			job.Sparse = true
			last := len(p.Chunks) - 1
			chunk := p.Chunks[last].Spans[0]
			cut := (chunk.From + chunk.To) / 2
			for name, left := range map[string][]video.Span{
				"a part of the chunk": {{From: 0, To: cut}, {From: cut + 20_000, To: chunk.To + 1<<20}},
				"all but the head":    p.Head,
				"all":                 {},
			} {
				keepOnly(t, job.Source, source, left)
				if _, err := tools.EncodeChunk(t.Context(), job, p, last, nil); !errors.Is(err, ffmpeg.ErrSparse) {
					t.Errorf("without %s, EncodeChunk = %v; want ErrSparse", name, err)
				}
			}
			keepOnly(t, job.Source, source, p.Head)
			if _, err := tools.Thumbnails(t.Context(), job, p, nil); !errors.Is(err, ffmpeg.ErrSparse) {
				t.Errorf("without the thumbnails, Thumbnails = %v; want ErrSparse", err)
			}
		})
	}
}

func TestSourcesThatAreReadWhole(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, tt := range []struct {
		name, file string
		tools      *engine
		args       []string
	}{
		{"a small file", "a.mp4", shortChunks(tools), nil},
		{"a transport stream", "a.ts", sparseEngine(tools), nil},
		{"fragments with an index, where ffmpeg seeks anywhere", "a.mp4", sparseEngine(tools), []string{"-movflags", "frag_keyframe+dash+global_sidx"}},
		{"a live recording without an index", "a.mkv", sparseEngine(tools), []string{"-live", "1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := enginetest.NewJob(t, enginetest.Clip(t, tt.file, noisy, append(x264("keyint=25"), tt.args...)...))
			p, err := tt.tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{1}})
			if err != nil {
				t.Fatal(err)
			}
			if p.Head != nil || plan.ChunkSpans(p, 0) != nil || plan.ThumbnailSpans(p) != nil || plan.SampleSpans(p) != nil || plan.PosterSpans(p) != nil {
				t.Errorf("head %v, chunk %v; want none", p.Head, p.Chunks[0].Spans)
			}
		})
	}
}

// keepOnly makes path a file of the size of source that has only some of its bytes.
func keepOnly(t *testing.T, path, source string, spans []video.Span) {
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
