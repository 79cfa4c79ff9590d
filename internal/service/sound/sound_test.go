package sound_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/sound"
	"github.com/spool-video/spool/internal/video"
)

// wantCode makes sure that a request is refused with a code.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*video.Error](err); !ok || e.Code != code {
		t.Errorf("the refusal is %v; want %s", err, code)
	}
}

func tracks(b *servicetest.Rig, id video.ID) []video.AudioTrack {
	v := b.Video(id)
	return v.AudioTracks()
}

// sources returns the files of sound tracks in the storage.
func sources(b *servicetest.Rig, id video.ID) (keys []string) {
	b.T.Helper()
	for info, err := range b.Blobs.List(b.T.Context(), objects.Sources.Prefix(video.Folder(id))) {
		b.Must(err)
		if objects.IsTrackSource(info.Key) {
			keys = append(keys, info.Key)
		}
	}
	return keys
}

func TestAVideoHasAtMostSoManyTracks(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Ready(servicetest.Plan("720p", "240p")).ID
	before := len(tracks(b, id))
	for range video.MaxTracks - before {
		_, _, err := b.Sound.Add(t.Context(), b.By, id, sound.Names{Language: "fr"}, strings.NewReader("x"), 1)
		b.Must(err)
	}
	_, _, err := b.Sound.Add(t.Context(), b.By, id, sound.Names{}, strings.NewReader("x"), 1)
	wantCode(t, err, "limit_reached")
	labels := map[string]bool{}
	for _, track := range tracks(b, id) {
		labels[track.Label] = true
	}
	if len(labels) != video.MaxTracks || len(sources(b, id)) != video.MaxTracks-before {
		t.Errorf("%d labels and %d files", len(labels), len(sources(b, id)))
	}
}

func TestARefusedOrBrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Ready(servicetest.Plan("720p", "240p")).ID
	before := len(tracks(b, id))
	add := func(body io.Reader, length int64) error {
		_, _, err := b.Sound.Add(t.Context(), b.By, id, sound.Names{}, body, length)
		return err
	}
	wantCode(t, add(io.MultiReader(strings.NewReader("some"), broken{}), 100), "upload_interrupted")
	wantCode(t, add(strings.NewReader(""), 0), "invalid_request")
	wantCode(t, add(strings.NewReader("x"), 3<<30), "file_too_large")
	if all := tracks(b, id); len(all) != before || len(sources(b, id)) != 0 {
		t.Errorf("there are the tracks %v and the files %v", all, sources(b, id))
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestATrackThatIsDeletedWhileItIsMadeDoesNotComeBack has a worker finish it afterwards.
func TestATrackThatIsDeletedWhileItIsMadeDoesNotComeBack(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Ready(servicetest.Plan("720p", "240p")).ID
	v, track, err := b.Sound.Add(t.Context(), b.By, id, sound.Names{Language: "fr"}, strings.NewReader("x"), 1)
	b.Must(err)
	b.Must(b.Sound.Delete(t.Context(), b.By, id, track.ID))
	if len(sources(b, id)) != 0 {
		t.Errorf("the files %v are left", sources(b, id))
	}
	b.Must(b.PublishTrack(t.Context(), queue.Task{Kind: queue.Sound, Video: id, Number: track.Number}, v, b.File("sound"), nil))
	now := b.Video(id)
	if _, listed := now.File(track.File()); listed {
		t.Error("its file is listed")
	}
	if _, found := now.Sound.Track(track.Number); found {
		t.Error("it is back")
	}
	wantCode(t, b.Sound.Delete(t.Context(), b.By, id, track.ID), "track_not_found")
}

func TestTheDefaultTrack(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Ready(servicetest.Plan("720p", "240p")).ID
	first, _ := b.Video(id).Sound.Default()
	v, track, err := b.Sound.Add(t.Context(), b.By, id, sound.Names{Language: "fr"}, strings.NewReader("x"), 1)
	b.Must(err)
	_, _, err = b.Sound.Edit(t.Context(), b.By, id, track.ID, sound.Edit{Default: true})
	wantCode(t, err, "track_not_ready")
	b.Must(b.PublishTrack(t.Context(), queue.Task{Kind: queue.Sound, Video: id, Number: track.Number}, v, b.File("sound"), nil))
	if now, _ := b.Video(id).Sound.Track(track.Number); now.Status != video.Ready || now.Default || len(sources(b, id)) != 0 {
		t.Errorf("the track is %+v, and the files %v are left", now, sources(b, id))
	}
	_, _, err = b.Sound.Edit(t.Context(), b.By, id, track.ID, sound.Edit{Default: true, Label: new("Français")})
	b.Must(err)
	now := b.Video(id)
	if d, _ := now.Sound.Default(); d.ID != track.ID || d.Label != "Français" || !now.LacksInFiles() {
		t.Errorf("the sound is %+v", now.Sound)
	}
	wantCode(t, b.Sound.Delete(t.Context(), b.By, id, track.ID), "default_track")
	b.Must(b.Sound.Delete(t.Context(), b.By, id, first.ID))
}

// TestAllPiecesOfATrackHaveTheGainThatWasStoredFirst has two workers measure the same track at the same time.
func TestAllPiecesOfATrackHaveTheGainThatWasStoredFirst(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id := b.Ready(servicetest.Plan("720p", "240p")).ID
	v := b.Video(id)
	first := &video.Loudness{Integrated: new(-30.0), Gain: 14, Limit: new(-1.5)}
	for i, measured := range []*video.Loudness{first, {Integrated: new(-29.9), Gain: 13.9}} {
		got, err := b.StoreLoudness(t.Context(), v, 1, measured)
		b.Must(err)
		if got.Gain != first.Gain || *got.Limit != *first.Limit {
			t.Errorf("worker %d is told %+v", i, got)
		}
	}
	if track, _ := b.Video(id).Sound.Track(1); track.Loudness == nil || *track.Loudness.Integrated != -30 {
		t.Errorf("the track has %+v", track.Loudness)
	}
}
