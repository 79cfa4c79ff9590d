package client

import (
	"context"
	"time"
)

// Report says what was found in a file, what was decided and why, and what it cost.
type Report struct {
	ID        string            `json:"id"`
	Status    Status            `json:"status"`
	Failure   *Failure          `json:"failure,omitempty"`
	SHA256    string            `json:"sha256"`          // of the uploaded file; "" if it is not known
	Found     *Found            `json:"found,omitempty"` // nil until the file has been inspected
	Decisions []Decision        `json:"decisions,omitempty"`
	Copy      *Copy             `json:"copy,omitempty"` // nil unless CopySource is "auto"
	Warnings  []Failure         `json:"warnings"`
	Runs      []Run             `json:"runs"`
	Totals    Totals            `json:"totals"`
	Outputs   map[string]Output `json:"outputs"` // by the names of resolutions that are ready
	Files     []File            `json:"files,omitempty"`

	Loudness    *Loudness    `json:"loudness,omitempty"` // of the default sound track; nil until it is measured
	AudioTracks []SoundTrack `json:"audioTracks"`
}

// SoundTrack is what a report says of a sound track.
type SoundTrack struct {
	ID       string    `json:"id"`
	Language string    `json:"language"`
	Label    string    `json:"label"`
	Kind     string    `json:"kind"`
	Source   string    `json:"source"`
	Default  bool      `json:"default"`
	Status   Status    `json:"status"`
	Loudness *Loudness `json:"loudness,omitempty"` // nil until it is measured
}

// Loudness is how loud a sound track is in its file, and by how much it was made louder.
type Loudness struct {
	Integrated *float64 `json:"integrated"` // LUFS; nil: silence, or too short
	Range      *float64 `json:"range"`      // LU; likewise, and below 4 s
	TruePeak   *float64 `json:"truePeak"`   // dBTP; nil: digital silence
	Gain       float64  `json:"gain"`       // dB
}

// Found is what a file contains.
type Found struct {
	Container       string      `json:"container"`
	SizeBytes       int64       `json:"sizeBytes"`
	DurationSeconds float64     `json:"durationSeconds"`
	Frames          int         `json:"frames"`
	Video           FoundVideo  `json:"video"`
	Audio           *FoundAudio `json:"audio,omitempty"`
	Streams         []Stream    `json:"streams,omitempty"`
}

// Copy is what became of the wish to copy the picture of a file.
type Copy struct {
	Copied  bool     `json:"copied"`
	Reasons []string `json:"reasons"` // why not, such as "keyframe_distance"
}

// FoundVideo is the pictures of a file.
type FoundVideo struct {
	Stream      int     `json:"stream"`
	Codec       string  `json:"codec"`
	PixelFormat string  `json:"pixelFormat"`
	Width       int     `json:"width"`
	Height      int     `json:"height"`
	Rotation    int     `json:"rotation"`
	FrameRate   float64 `json:"frameRate"`
	Bitrate     int64   `json:"bitrate,omitempty"`
}

// FoundAudio is the sound of a file.
type FoundAudio struct {
	Stream   int    `json:"stream"`
	Codec    string `json:"codec"`
	Channels int    `json:"channels"`
}

// Stream is any stream of a file.
type Stream struct {
	Index        int      `json:"index"`
	Type         string   `json:"type,omitempty"`
	Codec        string   `json:"codec"`
	Language     string   `json:"language,omitempty"`
	Title        string   `json:"title,omitempty"`
	Dispositions []string `json:"dispositions"`
}

// Decision is a sentence about how a video is converted, and why.
type Decision struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// Run is a program that ran for a video.
type Run struct {
	Task           string    `json:"task"`
	Number         int       `json:"number"`
	Attempt        int       `json:"attempt"`
	Program        string    `json:"program"`
	Arguments      []string  `json:"arguments"`
	StartedAt      time.Time `json:"startedAt"`
	WallSeconds    float64   `json:"wallSeconds"`
	CPUSeconds     float64   `json:"cpuSeconds"`
	MaxMemoryBytes int64     `json:"maxMemoryBytes,omitempty"`
	Result         string    `json:"result"`
}

// Totals are the costs of all runs.
type Totals struct {
	Runs         int      `json:"runs"`
	WallSeconds  float64  `json:"wallSeconds"`
	CPUSeconds   float64  `json:"cpuSeconds"`
	QueueSeconds *float64 `json:"queueSeconds,omitempty"`
	TotalSeconds *float64 `json:"totalSeconds,omitempty"`
}

// Output is a file that is ready, and how similar it is to its source.
type Output struct {
	Width     int      `json:"width"`
	Height    int      `json:"height"`
	SizeBytes int64    `json:"sizeBytes"`
	Bitrate   int64    `json:"bitrate"`
	Method    string   `json:"method"` // "encoded" or "copied"
	SSIM      *float64 `json:"ssim,omitempty"`
	PSNR      *float64 `json:"psnr,omitempty"`
}

// File is a published file that belongs to no resolution.
type File struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	ContentType string `json:"contentType"`
	Language    string `json:"language,omitempty"`
	Label       string `json:"label,omitempty"`
	SizeBytes   int64  `json:"sizeBytes"`
}

// Report reads the report on a video.
func (c *Client) Report(ctx context.Context, id string) (Report, error) {
	return get[Report](ctx, c, path("video", id, "report"), nil)
}
