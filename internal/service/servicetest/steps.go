package servicetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// LikeVideo is enough of an MP4 to pass the verification.
var LikeVideo = append([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"), make([]byte, 400)...)

// Create creates a video, by default with the resolutions 720p and 240p.
func (r *Rig) Create(d video.Draft) catalog.Upload {
	r.T.Helper()
	if d.Filename == "" {
		d.Filename = "film.mp4"
	}
	if d.Resolutions == nil {
		d.Resolutions = []video.Name{"720p", "240p"}
	}
	up, err := r.Catalog.Create(r.T.Context(), r.By, d, Base)
	r.Must(err)
	return up
}

// Incoming is a PUT to the address of an upload.
func (r *Rig) Incoming(up catalog.Upload, body []byte) uploads.Incoming {
	token, id, _ := strings.Cut(strings.TrimPrefix(up.URL, Base+"/upload/"), "/")
	return uploads.Incoming{Token: token, Video: video.ID(id), ContentType: up.Video.ContentType, Length: int64(len(body)), Body: bytes.NewReader(body)}
}

// Put uploads a file.
func (r *Rig) Put(up catalog.Upload, body []byte) {
	r.T.Helper()
	_, err := r.Uploads.Receive(r.T.Context(), r.Incoming(up, body))
	r.Must(err)
}

// Processing makes a video whose upload was accepted.
func (r *Rig) Processing(d video.Draft) video.Video {
	r.T.Helper()
	up := r.Create(d)
	r.Put(up, LikeVideo)
	v, err := r.Uploads.Complete(r.T.Context(), r.By, up.Video.ID)
	r.Must(err)
	return v
}

// Plan is what inspecting a 40 s video of 1280×720 might give: two chunks, and a rendition for each
// name.
func Plan(names ...video.Name) *video.Plan {
	p := &video.Plan{
		Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}, Duration: 40 * time.Second,
		Chunks: []video.Chunk{{Start: 0, End: 20000, Seek: video.NoSeek}, {Start: 20000, End: video.Forever, Seek: 20000}},
		Audio:  &video.Audio{Stream: 1},
	}
	for _, n := range names {
		p.Renditions = append(p.Renditions, video.Rendition{Width: 2 * n.ShortSide(), Height: n.ShortSide(), Names: []video.Name{n}})
	}
	return p
}

// MeasuredPlan is a plan whose renditions are compared with their source.
func MeasuredPlan(names ...video.Name) *video.Plan {
	p := Plan(names...)
	p.Samples = []video.Chunk{{Start: 0, End: 500, Seek: video.NoSeek}}
	return p
}

// File makes a scratch file as a worker would.
func (r *Rig) File(text string) string {
	r.T.Helper()
	path := filepath.Join(r.T.TempDir(), "file")
	r.Must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Transcode plays the part of the workers up to the assembly.
func (r *Rig) Transcode(id video.ID, p *video.Plan) {
	r.T.Helper()
	r.Must(r.StorePlan(r.T.Context(), id, p))
	first := r.Video(id).Plan.First
	for chunk := range p.Chunks {
		var files []pipeline.ChunkFile
		for n := range p.Renditions {
			files = append(files, pipeline.ChunkFile{Rendition: first + n, Path: r.File("chunk"), Frames: 5})
		}
		r.Chunk(id, chunk, files...)
	}
	if p.Audio != nil {
		r.Audio(id)
	}
}

// Chunk finishes a chunk of the pass of a video.
func (r *Rig) Chunk(id video.ID, n int, files ...pipeline.ChunkFile) {
	r.T.Helper()
	r.Must(r.FinishChunk(r.T.Context(), queue.Task{Kind: queue.Encode, Video: id, Number: n}, r.Video(id), files))
}

// Audio finishes the audio of a video.
func (r *Rig) Audio(id video.ID) {
	r.T.Helper()
	r.Must(r.FinishAudio(r.T.Context(), queue.Task{Kind: queue.Audio, Video: id}, r.Video(id), pipeline.AudioFile{Path: r.File("audio"), Packets: 1}))
}

// Rendition is what the rendition files of a rig contain.
const Rendition = "the rendition"

// Publish publishes a rendition.
func (r *Rig) Publish(id video.ID, rendition int) {
	r.T.Helper()
	r.Must(r.PublishRendition(r.T.Context(), r.Video(id), rendition, pipeline.RenditionFile{Path: r.File(Rendition), Width: 2, Height: 2, Duration: time.Second}))
}

// Finish plays the part of the workers from the inspection to the end, for the resolutions that wait
// for it.
func (r *Rig) Finish(id video.ID) {
	r.T.Helper()
	v := r.Video(id)
	p := Plan(v.Unplanned()...)
	r.Transcode(id, p)
	for n := range p.Renditions {
		r.Publish(id, r.Video(id).Plan.First+n)
	}
}

// Ready makes a public video that is ready.
func (r *Rig) Ready(p *video.Plan) video.Video {
	r.T.Helper()
	v := r.Processing(video.Draft{IsPublic: true})
	r.Transcode(v.ID, p)
	for n := range p.Renditions {
		r.Publish(v.ID, n)
	}
	if v = r.Video(v.ID); v.Status != video.Ready {
		r.T.Fatalf("video is %s", v.Status)
	}
	return v
}

// Add adds a resolution that is allowed.
func (r *Rig) Add(id video.ID, name video.Name) catalog.State {
	r.T.Helper()
	s, err := r.Catalog.AddResolution(r.T.Context(), r.By, id, name)
	r.Must(err)
	return s
}

// GiveUpVideo gives a video up because of a task that is open and that it cannot go on without.
func (r *Rig) GiveUpVideo(ctx context.Context, id video.ID, f *video.Failure) error {
	r.T.Helper()
	task := queue.Task{Kind: queue.Inspect, Video: id}
	steps, err := r.Store.Steps(ctx, id)
	r.Must(err)
	for _, s := range steps {
		if kind := pipeline.KindOf(queue.Kind(s.Kind)); !s.Done && !kind.Optional {
			task.Kind, task.Number = kind.Name, s.Number
		}
	}
	return r.GiveUp(ctx, task, f)
}

// TusToken is the signed part of the address of a resumable upload.
func TusToken(up catalog.Upload) string { return path.Base(path.Dir(up.TusURL)) }

// BeginUpload begins a resumable upload, of which a part is stored.
func (r *Rig) BeginUpload(up catalog.Upload) {
	r.T.Helper()
	right, err := r.Uploads.OpenResumable(r.T.Context(), TusToken(up), up.Video.ID)
	r.Must(err)
	r.Must(r.Uploads.BeginResumable(r.T.Context(), right, 1000))
	for _, name := range []string{right.Key + ".info", right.Key + ".part"} {
		_, err := r.Blobs.Put(r.T.Context(), name, strings.NewReader("half"))
		r.Must(err)
	}
}

// OpenPublic opens a file of a public video, as a player does.
func (s *Services) OpenPublic(ctx context.Context, id video.ID, file string) (playback.Content, error) {
	return s.openWhole(ctx, playback.Access{Video: id}, file)
}

// OpenSigned opens a file of a private video for the holder of a signed address.
func (s *Services) OpenSigned(ctx context.Context, token string, id video.ID, file string) (playback.Content, error) {
	return s.openWhole(ctx, playback.Access{Video: id, Token: token}, file)
}

// openWhole opens a file, and makes it if it is made for those who read it.
func (s *Services) openWhole(ctx context.Context, a playback.Access, file string) (playback.Content, error) {
	c, err := s.Player.Open(ctx, a, file)
	if err != nil {
		return nil, err
	}
	if _, err := c.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
