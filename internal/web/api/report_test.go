package api

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// readyReport is a report with all fields set.
func readyReport() catalog.Report {
	at := time.Date(2030, 1, 2, 13, 0, 0, 0, time.FixedZone("CET", 3600))
	v := testVideo(false, video.Ready)
	v.CompletedAt, v.Source.Size = at, 2000
	v.Plan = &video.Plan{
		Input: video.Input{
			Container: "mov,mp4", VideoStream: 1, Codec: "h264", PixelFormat: "yuv420p", Width: 180, Height: 320, CodedWidth: 320, CodedHeight: 180,
			Rotation: 90, TimeBase: video.Ratio{Num: 1, Den: 90000}, FrameRate: 29.97, Bitrate: 12345, Matrix: "bt709", Transfer: "bt709", Primaries: "bt709",
		},
		Renditions: []video.Rendition{{Names: []video.Name{"720p"}, CRF: map[video.Codec]float64{video.H264: 26.5, video.AV1: 37}}},
		Duration:   2500 * time.Millisecond, Frames: 75, Chunks: []video.Chunk{{End: video.Forever}},
		Audio: &video.Audio{Stream: 2, Codec: "aac", Channels: 6, Bitrate: 128_000},
		Streams: []video.Stream{
			{Index: 0, Codec: "unknown"},
			{Index: 1, Type: "subtitle", Codec: "subrip", Language: "eng", Title: "A <b>", Dispositions: []string{"forced"}},
		},
	}
	v.Resolutions = []video.Resolution{
		{Name: "720p", Status: video.Ready, Width: 1280, Height: 720, SizeBytes: 1000, Bitrate: 3200, Quality: &video.QualityScore{SSIM: 0.98765432, PSNR: 41.23456}},
		{Name: "144p", Status: video.Ready, Width: 256, Height: 144, SizeBytes: 10, Bitrate: 32, Copied: true},
		{Name: "240p", Status: video.Fail},
	}
	v.Files = []video.File{{Name: "poster.jpg", Kind: "poster", ContentType: "image/jpeg", Size: 5}, {Name: "a.vtt", Language: "en", Label: "English"}}
	v.Sound = &video.Sound{Tracks: []video.AudioTrack{
		{ID: testID, Language: "en", Label: "English", Kind: video.MainTrack, Source: video.Embedded, Default: true, Status: video.Ready, Upload: "secret",
			Loudness: &video.Loudness{Integrated: new(-23.1), Range: new(6.2), TruePeak: new(-3.4), Gain: 7.1, Limit: new(-1.5)}},
		{ID: testID, Language: "de", Label: "Deutsch", Kind: video.Dub, Source: video.Uploaded, Status: video.Ready, Loudness: &video.Loudness{}},
		{ID: testID, Language: "und", Label: "Sound", Kind: video.Dub, Source: video.Uploaded, Status: video.Processing},
	}}
	return catalog.Report{
		Video: v,
		Cost:  video.Cost{Executions: 2, Wall: 1500 * time.Millisecond, CPU: 2_000_400 * time.Microsecond, BeganAt: at.Add(20 * time.Millisecond), EndedAt: at.Add(3 * time.Second)},
		Executions: []video.Execution{
			{Task: "inspect", Attempt: 1, Program: "ffprobe", StartedAt: at, Wall: time.Second, CPU: time.Second, Result: "ok"},
			{Task: "encode", Number: 3, Attempt: 2, Program: "ffmpeg", Arguments: []string{"-i", "file:source", "a<b&c"}, StartedAt: at,
				Wall: 500 * time.Millisecond, CPU: 1_000_400 * time.Microsecond, Memory: 1 << 30, Result: "exit status 1"},
		},
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	body := wire(t, viewReport(readyReport()))
	const head = `{"id":"` + testID + `","status":"ready","found":{"container":"mov,mp4","sizeBytes":2000,"durationSeconds":2.5,"frames":75,` +
		`"video":{"stream":1,"codec":"h264","pixelFormat":"yuv420p","codedWidth":320,"codedHeight":180,"width":180,"height":320,"rotation":90,` +
		`"timeBase":"1/90000","frameRate":29.97,"bitrate":12345,"matrix":"bt709","transfer":"bt709","primaries":"bt709","fullRange":false},` +
		`"audio":{"stream":2,"codec":"aac","channels":6},"streams":[{"index":0,"codec":"unknown","dispositions":[]},` +
		`{"index":1,"type":"subtitle","codec":"subrip","language":"eng","title":"A <b>","dispositions":["forced"]}]},"decisions":[{"decision":"Stream 1 of the file is the video.","reason":"`
	const tail = `],"warnings":[],"runs":[` +
		`{"task":"inspect","number":0,"attempt":1,"program":"ffprobe","arguments":[],"startedAt":"2030-01-02T12:00:00Z","wallSeconds":1,"cpuSeconds":1,"result":"ok"},` +
		`{"task":"encode","number":3,"attempt":2,"program":"ffmpeg","arguments":["-i","file:source","a<b&c"],"startedAt":"2030-01-02T12:00:00Z",` +
		`"wallSeconds":0.5,"cpuSeconds":1,"maxMemoryBytes":1073741824,"result":"exit status 1"}],` +
		`"totals":{"runs":2,"wallSeconds":1.5,"cpuSeconds":2,"queueSeconds":0.02,"totalSeconds":3},` +
		`"outputs":{"720p":{"width":1280,"height":720,"sizeBytes":1000,"bitrate":3200,"method":"encoded","crf":26.5,"ssim":0.9877,"psnr":41.23},` +
		`"144p":{"width":256,"height":144,"sizeBytes":10,"bitrate":32,"method":"copied"}},` +
		`"loudness":{"integrated":-23.1,"range":6.2,"truePeak":-3.4,"gain":7.1},"audioTracks":[` +
		`{"id":"` + testID + `","language":"en","label":"English","kind":"main","source":"embedded","default":true,"status":"ready","loudness":{"integrated":-23.1,"range":6.2,"truePeak":-3.4,"gain":7.1}},` +
		`{"id":"` + testID + `","language":"de","label":"Deutsch","kind":"dub","source":"uploaded","default":false,"status":"ready","loudness":{"integrated":null,"range":null,"truePeak":null,"gain":0}},` +
		`{"id":"` + testID + `","language":"und","label":"Sound","kind":"dub","source":"uploaded","default":false,"status":"processing"}],` +
		`"files":[{"name":"poster.jpg","kind":"poster","contentType":"image/jpeg","sizeBytes":5},` +
		`{"name":"a.vtt","kind":"","contentType":"","language":"en","label":"English","sizeBytes":0}],"sha256":null}`
	if !strings.HasPrefix(body, head) {
		t.Errorf("the report begins\n%.900s\nwant\n%s", body, head)
	}
	if !strings.HasSuffix(body, tail) {
		t.Errorf("the report is\n%s\nwant at its end\n%s", body, tail)
	}
}

func TestReportBeforeInspection(t *testing.T) {
	t.Parallel()
	v := testVideo(true, video.Fail, "720p")
	v.Failure = video.Failf(video.NotAVideo, "It is a text.")
	const want = `{"id":"` + testID + `","status":"fail","failure":{"code":"not_a_video","message":"It is a text."},"warnings":[],"runs":[],` +
		`"totals":{"runs":0,"wallSeconds":0,"cpuSeconds":0},"outputs":{},"audioTracks":[],"sha256":null}`
	if got := wire(t, viewReport(catalog.Report{Video: v})); got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
}
