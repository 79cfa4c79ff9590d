package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status is where a video, or one of its resolutions, stands.
type Status string

// The statuses.
const (
	PendingUpload Status = "pending_upload" // waits for its file
	Processing    Status = "processing"
	Ready         Status = "ready"
	Failed        Status = "fail"
)

// Done reports whether the processing has ended.
func (s Status) Done() bool { return s == Ready || s == Failed }

// NewVideo describes a video that is to be created.
type NewVideo struct {
	// Filename is a label, whose extension says what kind of file it is. [Client.UploadFile] sets it if it is empty,
	// and with a SourceURL the server takes it from there.
	Filename string `json:"filename,omitempty"`
	// Resolutions are the outputs to make, such as "1080p" and "480p"; at least one. With a SourceURL there may be
	// none: then the server makes [Key.DefaultResolutions].
	Resolutions []string `json:"resolutions,omitempty"`
	// Public videos have permanent URLs that anyone can use; the URLs of others are signed and expire.
	Public bool `json:"isPublic"`
	// Title is what people see; if it is empty, the filename without its extension.
	Title string `json:"title,omitempty"`
	// Thumbnails says at which seconds to take thumbnails, beside the poster that every video has.
	Thumbnails []float64 `json:"thumbnailTimestampsSeconds,omitempty"`
	// Metadata is returned on reads, and [Client.Videos] can search for it; up to 16 KiB of JSON.
	Metadata Metadata `json:"customMetadata,omitempty"`
	// Tags are words by which videos are found again, up to 50 of up to 64 characters.
	Tags []string `json:"tags,omitempty"`
	// ExpiresAt is when the video is deleted; zero: never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Upscale enlarges small videos, or does not; nil leaves it to the server's setting.
	Upscale *bool `json:"upscale,omitempty"`
	// Codecs are the codecs to make, "h264", "av1" and "hevc"; if there are none, the server's setting decides.
	Codecs []string `json:"codecs,omitempty"`
	// HDR is "keep" where AV1 and HEVC keep the range of a source in HDR; "" leaves it to the server.
	HDR string `json:"hdr,omitempty"`
	// Profile is the name of one of [Key.Profiles]; "": none. With one, there may be no Resolutions.
	Profile string `json:"profile,omitempty"`
	// AcceptAudio makes a video of a file with sound and no picture, too, or refuses it; nil leaves it to the server.
	AcceptAudio *bool `json:"acceptAudio,omitempty"`
	// CopySource is "auto" where the resolution at the size of the file may be the picture of the file, "never" where all is
	// encoded; "" leaves it to the server.
	CopySource string `json:"copySource,omitempty"`
	// Loudness is "normalize" where all sound tracks are made equally loud; "" leaves it to the server.
	Loudness string `json:"loudness,omitempty"`
	// MaxDurationSeconds makes a longer video fail before anything is made of it; 0 means any length.
	MaxDurationSeconds float64 `json:"maxDurationSeconds,omitempty"`
	// AllowedOrigins are the sites on which the video may be played, such as "example.com" and "*.example.org". nil:
	// everywhere. An empty list: only in the server's own pages.
	AllowedOrigins []string `json:"allowedOrigins,omitzero"`
	// AllowNoOrigin lets requests that name no site play it, too: apps, native players, downloads.
	AllowNoOrigin bool `json:"allowNoOrigin,omitempty"`
	// Transcribe is true, or the language that is spoken, such as "en": captions are made of what is said. false makes none;
	// nil leaves it to the server.
	Transcribe any `json:"transcribe,omitempty"`
	// Translate are the languages into which these are translated.
	Translate []string `json:"translate,omitempty"`
	// Watermark is laid over the video; nil leaves it to the server.
	Watermark *WatermarkChoice `json:"watermark,omitempty"`
	// SourceURL lets the server fetch the file itself, instead of an upload.
	SourceURL string `json:"sourceUrl,omitempty"`
	// Trim makes only a part of the file; nil makes all of it.
	Trim *Trim `json:"trim,omitempty"`
	// Clip makes a part of another video; there is nothing to upload then. Filename and Resolutions may be empty.
	Clip *Clip `json:"clip,omitempty"`

	// IdempotencyKey is a text of up to 255 characters that the same request has, and no other. If it is
	// empty, each call of [Client.Create] makes a video of its own, however often it is sent. With one that
	// you keep, a later call, also of another process, continues where the earlier one was; so choose
	// another one for a file that has changed.
	IdempotencyKey string `json:"-"`
}

// Trim is a part of a file, in seconds since its first frame, exact to the frame. All other times of the video count from
// the start of the part.
type Trim struct {
	Start float64 `json:"startSeconds,omitempty"`
	End   float64 `json:"endSeconds,omitempty"` // 0: the end of the file
}

// Clip is a part of another video of the same tenant, in seconds since it begins, exact to the frame.
type Clip struct {
	VideoID string  `json:"videoId"`
	Start   float64 `json:"startSeconds"`
	End     float64 `json:"endSeconds"`
}

// Metadata is any JSON object. Numbers that were read are of the type [json.Number], which keeps
// every digit.
type Metadata map[string]any

// UnmarshalJSON keeps numbers as they are.
func (m *Metadata) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode((*map[string]any)(m))
}

// Created is a video that waits for its file.
type Created struct {
	ID              string
	UploadURL       string    // takes the whole file in one PUT, with exactly this ContentType
	ContentType     string    // of the upload
	Public          bool      // as it was asked for
	Statuses        Statuses  // of its resolutions
	UploadExpiresAt time.Time // when UploadURL stops working
	MaxUploadBytes  int64     // the largest file that UploadURL takes
	TusURL          string    // takes the file with tus 1.0, which can be resumed
	Replayed        bool      // the video was there: an earlier request had the same IdempotencyKey

	key string // the IdempotencyKey
}

// Statuses maps the name of a resolution to its status.
type Statuses map[string]Status

// UnmarshalJSON reads {"720p": {"status": "ready"}}.
func (s *Statuses) UnmarshalJSON(text []byte) error {
	var in map[string]struct{ Status Status }
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*s = make(Statuses, len(in))
	for name, r := range in {
		(*s)[name] = r.Status
	}
	return nil
}

// UnmarshalJSON reads the answer to a create request.
func (c *Created) UnmarshalJSON(text []byte) error {
	var in struct {
		ID, UploadURL, ContentType, TusURL string
		IsPublic                           bool
		Resolutions                        Statuses
		UploadExpiresAt                    time.Time
		MaxUploadBytes                     int64
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*c = Created{
		ID: in.ID, UploadURL: in.UploadURL, ContentType: in.ContentType, Public: in.IsPublic, Statuses: in.Resolutions,
		UploadExpiresAt: in.UploadExpiresAt, MaxUploadBytes: in.MaxUploadBytes, TusURL: in.TusURL,
	}
	return nil
}

// Video is a video as the server describes it. Events have no URLs; lists have PosterURL.
type Video struct {
	ID          string                `json:"id"`
	Filename    string                `json:"filename,omitempty"` // absent from PublicVideo and PrivateVideo
	Title       string                `json:"title,omitempty"`
	Status      Status                `json:"status"`
	Playable    bool                  `json:"playable,omitempty"` // HLSURL and DASHURL play from the beginning
	Public      bool                  `json:"isPublic"`
	Metadata    Metadata              `json:"customMetadata"`
	Tags        []string              `json:"tags,omitempty"`
	Profile     string                `json:"profile,omitempty"`   // with which it was made
	Watermark   *WatermarkChoice      `json:"watermark,omitempty"` // that is in its pictures
	Resolutions map[string]Resolution `json:"resolutions"`

	HLSURL        string `json:"hlsUrl,omitempty"`
	DASHURL       string `json:"dashUrl,omitempty"`
	PosterURL     string `json:"posterUrl,omitempty"`
	ThumbnailURL  string `json:"thumbnailUrl,omitempty"` // any frame: add ?time=SECONDS&width=&height=&fit=&format=
	StoryboardURL string `json:"storyboardUrl,omitempty"`
	PreviewURL    string `json:"previewUrl,omitempty"`
	EmbedURL      string `json:"embedUrl,omitempty"`
	WatchURL      string `json:"watchUrl,omitempty"`

	AllowedOrigins []string `json:"allowedOrigins,omitzero"` // nil: the video may be played everywhere
	AllowNoOrigin  bool     `json:"allowNoOrigin,omitempty"`

	AudioTracks []AudioTrack `json:"audioTracks,omitempty"` // what viewers can choose to hear
	AudioURL    string       `json:"audioUrl,omitempty"`    // the sound of the default track alone

	Captions        []Caption    `json:"captions,omitempty"`
	Transcription   *MadeText    `json:"transcription,omitempty"` // nil: nothing was asked for
	Translations    []MadeText   `json:"translations,omitempty"`
	Matches         []Match      `json:"matches,omitempty"` // where the words of [Filter.Said] are said, up to 5 places
	Chapters        []Chapter    `json:"chapters,omitempty"`
	ChaptersURL     string       `json:"chaptersUrl,omitempty"` // WebVTT
	CreatedAt       time.Time    `json:"createdAt,omitzero"`
	ExpiresAt       time.Time    `json:"expiresAt,omitzero"`        // when it is deleted; zero: never
	DurationSeconds float64      `json:"durationSeconds,omitempty"` // 0 until the file has been inspected
	SizeBytes       int64        `json:"sizeBytes,omitempty"`       // of all its files
	Progress        float64      `json:"progress"`                  // of the processing, 0 to 1
	VideosAhead     *int         `json:"videosAhead,omitempty"`     // of yours, which are processed first; nil: the work has begun
	ImportProgress  float64      `json:"importProgress,omitempty"`  // of the download of a SourceURL, 0 to 1
	Failure         *Failure     `json:"failure,omitempty"`         // why Status is Failed
	ReplacedAt      time.Time    `json:"replacedAt,omitzero"`       // when its file was replaced last; zero: never
	Replacement     *Replacement `json:"replacement,omitempty"`     // the file that will replace this one; see Client.Replace
	Warnings        []Failure    `json:"warnings,omitempty"`        // of a file that was converted nevertheless
}

// Names returns the names of the video's resolutions, the largest first.
func (v Video) Names() []string {
	return slices.SortedFunc(maps.Keys(v.Resolutions), func(a, b string) int { return cmp.Compare(lines(b), lines(a)) })
}

// lines returns the height that the name of a resolution stands for, such as 720p or 4k. Names are not
// listed here: a newer server may have others.
func lines(name string) int {
	if n, ok := strings.CutSuffix(name, "k"); ok {
		thousands, _ := strconv.Atoi(n)
		return 540 * thousands // a frame of 16:9 that is so many thousand pixels wide
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(name, "p"))
	return n
}

// Err returns a [*FailedError] if the processing failed.
func (v Video) Err() error {
	if v.Status != Failed {
		return nil
	}
	if v.Failure == nil {
		return &FailedError{ID: v.ID, Failure: Failure{Code: "internal", Message: "The processing failed."}}
	}
	return &FailedError{ID: v.ID, Failure: *v.Failure}
}

// Resolution is one output of a video.
type Resolution struct {
	ID            string    `json:"id,omitempty"`
	Status        Status    `json:"status"`
	VideoURL      string    `json:"videoUrl,omitempty"` // an MP4 file; answers 404 until Status is Ready
	ThumbnailURLs []string  `json:"thumbnailImageUrls,omitempty"`
	Width         int       `json:"width,omitempty"`
	Height        int       `json:"height,omitempty"`
	SameAs        string    `json:"sameAs,omitempty"` // a smaller resolution that has the same file
	SizeBytes     int64     `json:"sizeBytes,omitempty"`
	Bitrate       int64     `json:"bitrate,omitempty"` // in bits per second
	Method        string    `json:"method,omitempty"`  // "copied": its picture is the picture of the file; "encoded"
	Progress      float64   `json:"progress"`          // 0 to 1
	Failure       *Failure  `json:"failure,omitempty"`
	Variants      []Variant `json:"variants,omitempty"`
}

// Variant is a resolution in one codec. Of a video that is made in H.264 alone, there are none.
type Variant struct {
	Codec  string `json:"codec"` // "h264" is the resolution itself
	Status Status `json:"status"`
	// DynamicRange is "sdr", "pq" or "hlg"; "" until the variant is made.
	DynamicRange string   `json:"dynamicRange,omitempty"`
	VideoURL     string   `json:"videoUrl,omitempty"`
	SizeBytes    int64    `json:"sizeBytes,omitempty"`
	Bitrate      int64    `json:"bitrate,omitempty"` // in bits per second
	Progress     float64  `json:"progress"`          // 0 to 1
	Reason       string   `json:"reason"`            // "asked", or "popular": the video was watched much
	Failure      *Failure `json:"failure,omitempty"`
}

// Failure says what went wrong with a file: a stable word for programs and a sentence for people.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Key says what an API key may do, and what the server accepts.
type Key struct {
	ID                 string   `json:"id"`
	Tenant             string   `json:"tenant"`
	Scopes             []string `json:"scopes"`
	MaxFileBytes       int64    `json:"maxFileBytes"`       // the size of the largest file
	DefaultResolutions []string `json:"defaultResolutions"` // to ask for where a person chooses none

	Profiles []Profile `json:"profiles"` // that videos may have, by name
}

// Profile is a ladder that the operator of the server has prepared.
type Profile struct {
	Name        string   `json:"name"`
	Resolutions []string `json:"resolutions"` // of a video that names none
}

// Usage is what the tenant of the key uses, and what it may use.
type Usage struct {
	Videos       int64   `json:"videos"`
	Bytes        int64   `json:"bytes"`
	MinutesToday float64 `json:"minutesToday"`
	InWork       int64   `json:"inWork"`
	BytesSent    int64   `json:"bytesSent"` // of videos that the server itself has sent since the month began, UTC
	Limits       Limits  `json:"limits"`
}

// Limits of a tenant; 0 means none.
type Limits struct {
	MaxVideos        int64   `json:"maxVideos"`
	MaxBytes         int64   `json:"maxBytes"`
	MaxMinutesPerDay float64 `json:"maxMinutesPerDay"`
	MaxInWork        int64   `json:"maxInWork"`
}

// Token lets a browser follow one video without an API key.
type Token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}
