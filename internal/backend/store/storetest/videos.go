package storetest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func videoTests() []test {
	return []test{
		{"the size of a video follows its files", sizeFollowsFiles},
		{"a video reads back as it was stored", videoReadsBack},
		{"what the work finds out reads back as it was stored", resultsReadBack},
		{"a video from before sound tracks has the one that its plan tells of", soundBeforeTracks},
		{"a video from before sound tracks has the one that its plan tells of", soundBeforeTracks},
		{"text of every kind is kept to the letter", textIsKept},
		{"times are kept to the millisecond", timesAreKept},
		{"resolutions stay in the order asked for", resolutionsKeepTheirOrder},
		{"an unknown id is not found", unknownIsNotFound},
		{"an id can be used once", idsAreUnique},
		{"a name can be used once in a video", namesAreUnique},
		{"the video of a resolution is found", videoOfResolution},
		{"a store that is open answers", pingAnswers},
	}
}

func videoReadsBack(t *testing.T, st *store.Store) {
	bare := NewVideo("720p")
	bare.Thumbnails, bare.Filename, bare.Title = nil, "a.b.mp4", "a.b"
	rich := NewVideo("4k", "144p")
	rich.Tenant, rich.Filename, rich.ContentType = "acme", "holiday.MOV", "video/quicktime"
	rich.IsPublic, rich.Upscale = true, true
	rich.HDR, rich.AcceptAudio, rich.CopySource, rich.Loudness = video.KeepHDR, true, video.AutoCopy, video.NormalizeLoudness
	rich.ReplacedAt = noon
	rich.Profile = &video.Profile{Name: "course", Preset: "slow", AudioBitrate: 96_000, MaxFPS: 30, Sizes: map[video.Name]video.ProfileSize{"720p": {CRF: 27.5, MaxBitrate: 1_500_000}}}
	rich.Codecs, rich.MaxDuration, rich.Tags = []video.Codec{video.AV1}, 90*time.Second, []string{"b", "a", "ü 🎬"}
	rich.ExpiresAt, rich.ExpiryTold = noon.Add(time.Millisecond), true
	rich.Trim = &video.Trim{Start: 1.5, End: 20}
	rich.AllowedOrigins, rich.AllowNoOrigin = []string{"example.com", "*.example.org"}, true
	rich.Metadata = json.RawMessage(`{"b": 1, "a": [null, true, 1e400, 12345678901234567890], "a": "again"}`)
	rich.Thumbnails = []float64{3, 0.1, 0, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, 3}
	hollow := NewVideo()
	hollow.Metadata, hollow.AllowedOrigins = json.RawMessage(`{}`), []string{}
	large := NewVideo(video.Names...)
	large.Metadata = rawJSON(video.MaxMetadataBytes)
	large.Thumbnails = make([]float64, video.MaxThumbnails)

	all := map[string]video.Video{"bare": bare, "rich": rich, "hollow": hollow, "large": large}
	for _, v := range all {
		insert(t, st, v)
	}
	for name, v := range all {
		t.Run(name, func(t *testing.T) { wantVideo(t, st, v) })
	}
}

func resultsReadBack(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v, other := Stored(t, st, video.Processing, "720p", "4k"), Stored(t, st, video.Processing, "720p")
	v.Plan = &video.Plan{
		Input:     video.Input{Codec: "h264", Width: 1280, Height: 720, TimeBase: video.Ratio{Num: 1, Den: 12800}, FrameRate: 23.976},
		Timescale: 12800, FirstPTS: -512, Duration: 9*time.Hour + 59*time.Minute + 123456*time.Microsecond,
		Renditions: []video.Rendition{{Width: 1280, Height: 720, Names: []video.Name{"4k", "720p"}}},
		Chunks:     []video.Chunk{{Start: -512, End: video.Forever, Seek: video.NoSeek}},
	}
	v.Duration, v.PlayableAt = v.Plan.Duration, noon
	v.Warnings = []video.Warning{video.Warnf(video.Truncated, "The video is cut off."), video.Warnf(video.Corrupt, "So is its audio.")}
	v.Files = []video.File{
		{Name: "poster.jpg", Kind: "poster", ContentType: "image/jpeg", Size: 50 << 30},
		{Name: "captions-fr.vtt", Kind: "captions", ContentType: "text/vtt; charset=utf-8", Language: "fr", Label: "Français 🎬", Size: 1},
	}
	v.Sound = &video.Sound{InFiles: 1, Last: 2, Tracks: []video.AudioTrack{
		{ID: "a", Number: 1, Name: "audio", Language: "und", Label: "Sound", Kind: video.MainTrack, Source: video.Embedded, Default: true, Status: video.Ready},
		{ID: "b", Number: 2, Name: "audio-b", Language: "fr", Label: "Français 🎬", Kind: video.Dub, Source: video.Uploaded, Status: video.Fail, Failure: video.Failf(video.Corrupt, "No.")},
	}}
	r := &v.Resolutions[1]
	r.Width, r.Height, r.SizeBytes, r.Bitrate = 1280, 720, 50<<30, 8_000_000_000
	Change(t, st, func(tx *store.Tx) error {
		if err := tx.SetFindings(ctx, v.ID, store.Findings{Plan: v.Plan, Files: v.Files, Sound: v.Sound}); err != nil {
			return err
		}
		if err := tx.SetFindings(ctx, v.ID, store.Findings{Warnings: v.Warnings, Playable: noon}); err != nil {
			return err
		}
		r.Variants = []video.Variant{
			{Codec: video.AV1, Status: video.Ready, SizeBytes: 1 << 40, Bitrate: 7}, {Codec: "vvc", Status: video.Fail, Failure: video.Failf(video.LimitTime, "No.")},
		}
		return tx.SetOutput(ctx, *r)
	})
	wantVideo(t, st, v)
	wantVideo(t, st, other)

	// An empty list replaces the one before; nothing replaces nothing.
	Change(t, st, func(tx *store.Tx) error { return tx.SetFindings(ctx, v.ID, store.Findings{Files: []video.File{}}) })
	Change(t, st, func(tx *store.Tx) error { return tx.SetFindings(ctx, v.ID, store.Findings{}) })
	v.Files = []video.File{}
	wantVideo(t, st, v)
}

// soundBeforeTracks reads videos that were made before there was a column for their sound.
func soundBeforeTracks(t *testing.T, st *store.Store) {
	ctx := t.Context()
	for name, tt := range map[string]struct {
		audio    *video.Audio
		warnings []video.Warning
		tracks   int
	}{
		"with sound":      {&video.Audio{Stream: 1, Codec: "aac", Channels: 2}, nil, 1},
		"without sound":   {nil, nil, 0},
		"with broken one": {&video.Audio{Stream: 1}, []video.Warning{video.Warnf(video.Corrupt, "The audio is damaged and could not be decoded; the video is silent.")}, 0},
	} {
		v := Stored(t, st, video.Ready, "720p")
		plan := &video.Plan{Duration: time.Second, Audio: tt.audio}
		Change(t, st, func(tx *store.Tx) error {
			return tx.SetFindings(ctx, v.ID, store.Findings{Plan: plan, Warnings: append([]video.Warning{}, tt.warnings...)})
		})
		got, err := st.Video(ctx, v.ID)
		if err != nil {
			t.Fatal(err)
		}
		if all := got.AudioTracks(); got.Sound == nil || len(all) != tt.tracks || tt.tracks > 0 && (all[0].ID != string(v.ID) || !all[0].Default || all[0].Status != video.Ready || got.Sound.InFiles != 1) {
			t.Errorf("a video %s has %+v", name, got.Sound)
		}
	}
}

func textIsKept(t *testing.T, st *store.Store) {
	for _, text := range []string{
		"Überraschung im Café.mp4", "映画 🎬 👩‍👩‍👧.mkv", "فيلم.webm", "e\u0301 is not \u00e9", "'; DROP TABLE video; --", `back\slash "quote" $1 ? :a @b`,
		"line\nbreak\ttab\r", "../../etc/passwd", " spaces around ", "%41 %", "5", "1e3", "NULL", "\ufeff\u200b", strings.Repeat("🎬", video.MaxFilename),
	} {
		v := NewVideo("720p")
		quoted, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		v.Filename, v.Title, v.ContentType, v.Tenant, v.Metadata = text, text, text, video.Tenant(text), quoted
		insert(t, st, v)
		wantVideo(t, st, v)
		Change(t, st, func(tx *store.Tx) error {
			return tx.MoveVideo(t.Context(), v.ID, video.Fail, &video.Failure{Code: video.NotAVideo, Message: text})
		})
		v.Status, v.Failure = video.Fail, &video.Failure{Code: video.NotAVideo, Message: text}
		wantVideo(t, st, v)
	}
}

func timesAreKept(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := NewVideo("720p")
	east := time.FixedZone("", 5*3600+30*60)
	v.CreatedAt = time.Date(2030, 1, 2, 3, 4, 5, 678_999_999, east)
	v.UploadExpiresAt = time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC)
	completed, deleted := time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), time.UnixMilli(0).UTC()
	insert(t, st, v)
	Change(t, st, func(tx *store.Tx) error {
		if _, err := tx.AcceptUpload(ctx, v.ID, video.Source{}, completed); err != nil {
			return err
		}
		return tx.MarkDeleted(ctx, v.ID, deleted)
	})
	got := read(t, st, v.ID)
	for _, tt := range []struct {
		name      string
		got, want time.Time
	}{
		{"creation, cut to the millisecond and in UTC", got.CreatedAt, v.CreatedAt.Truncate(time.Millisecond).UTC()},
		{"a time before 1970", got.UploadExpiresAt, v.UploadExpiresAt},
		{"the last year of the calendar", got.CompletedAt, completed},
		{"the first moment of 1970 is a time, too", got.DeletedAt, deleted},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

func resolutionsKeepTheirOrder(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.Processing, "480p", "8k", "144p", "1440p", "4k", "240p", "1080p", "360p", "720p")
	st.UseClock(func() time.Time { return noon })
	Change(t, st, func(tx *store.Tx) error {
		return tx.MoveResolution(t.Context(), v.Resolutions[4].ID, video.Ready, nil)
	})
	v.Resolutions[4].Status, v.PlayableAt = video.Ready, noon
	wantVideo(t, st, v)
}

func unknownIsNotFound(t *testing.T, st *store.Store) {
	ctx := t.Context()
	Stored(t, st, video.Ready, "720p")
	unknown := NewVideo("720p")
	wantNoVideo(t, st, unknown.ID)
	wantNoVideo(t, st, "")
	wantNoVideo(t, st, "' OR '1'='1")
	_, err := st.VideoOf(ctx, unknown.Resolutions[0].ID)
	wantCode(t, err, video.NotFound, "resolution_not_found")
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.Video(ctx, unknown.ID)
		wantCode(t, err, video.NotFound, "video_not_found")
		return nil
	})
	if steps, err := st.Steps(ctx, unknown.ID); err != nil || len(steps) != 0 {
		t.Errorf("Steps = %v, %v; want none", steps, err)
	}
}

func idsAreUnique(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.Processing, "720p")
	again := NewVideo("144p")
	again.ID = v.ID
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, again) }); err == nil {
		t.Error("a second video with the same id was stored")
	}
	thief := NewVideo("720p")
	thief.Resolutions[0].ID = v.Resolutions[0].ID
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, thief) }); err == nil {
		t.Error("a second resolution with the same id was stored")
	}
	wantVideo(t, st, v)
	wantNoVideo(t, st, thief.ID)
}

func namesAreUnique(t *testing.T, st *store.Store) {
	v := NewVideo("720p", "144p", "720p")
	if err := st.InTx(t.Context(), func(tx *store.Tx) error { return tx.InsertVideo(t.Context(), v) }); err == nil {
		t.Error("a video with one resolution twice was stored")
	}
	wantNoVideo(t, st, v.ID)
}

func videoOfResolution(t *testing.T, st *store.Store) {
	for range 3 {
		v := Stored(t, st, video.Ready, "720p", "144p")
		for _, r := range v.Resolutions {
			if got, err := st.VideoOf(t.Context(), r.ID); got != v.ID || err != nil {
				t.Errorf("VideoOf(%s) = %s, %v; want %s", r.Name, got, err, v.ID)
			}
		}
	}
}

func pingAnswers(t *testing.T, st *store.Store) {
	if err := st.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// sizeFollowsFiles has the files of a video come, change and go.
func sizeFollowsFiles(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v, expired := Stored(t, st, video.PendingUpload, "720p", "480p"), Stored(t, st, video.PendingUpload, "720p")
	wantSize := func(id video.ID, want int64) {
		t.Helper()
		if got := read(t, st, id); got.SizeBytes != want || got.Size() != want {
			t.Errorf("the size is %d, and its files have %d bytes; want %d", got.SizeBytes, got.Size(), want)
		}
	}
	for _, step := range []struct {
		want   int64
		change func(*store.Tx) error
	}{
		{10, func(tx *store.Tx) error { return tx.CountUpload(ctx, v.ID, 10) }},
		{0, func(tx *store.Tx) error { return tx.CountUpload(ctx, v.ID, 0) }},
		{1000, func(tx *store.Tx) error {
			_, err := tx.AcceptUpload(ctx, v.ID, video.Source{Key: "k", Size: 1000, ETag: "e"}, noon)
			return err
		}},
		{1020, func(tx *store.Tx) error {
			r := v.Resolutions[0]
			r.SizeBytes = 20
			return tx.SetOutput(ctx, r)
		}},
		{1027, func(tx *store.Tx) error {
			return tx.SetFindings(ctx, v.ID, store.Findings{Files: []video.File{{Name: "poster.jpg", Size: 3}, {Name: "720p-av1.mp4", Kind: video.VariantKind, Size: 4}}})
		}},
		{1023, func(tx *store.Tx) error {
			return tx.SetFindings(ctx, v.ID, store.Findings{Files: []video.File{{Name: "poster.jpg", Size: 3}}})
		}},
		{1003, func(tx *store.Tx) error { return tx.RemoveResolution(ctx, v.Resolutions[0].ID) }},
		{1000, func(tx *store.Tx) error { return tx.SetFindings(ctx, v.ID, store.Findings{Files: []video.File{}}) }},
	} {
		Change(t, st, step.change)
		wantSize(v.ID, step.want)
	}
	Change(t, st, func(tx *store.Tx) error { return tx.CountUpload(ctx, expired.ID, 70) })
	Change(t, st, func(tx *store.Tx) error {
		_, err := tx.ExpireUpload(ctx, expired.ID, noon.Add(48*time.Hour), video.Failf(video.UploadExpired, "x"))
		return err
	})
	wantSize(expired.ID, 0)
}
