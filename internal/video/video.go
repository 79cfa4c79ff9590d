package video

import (
	"encoding/json"
	"strings"
	"time"
)

// ID names a video. It is a UUID in lower case.
type ID string

// ResolutionID names one resolution of one video. It is a UUID in lower case.
type ResolutionID string

// Folder names where the objects of a video lie, in each area of the storage. It is the ID under which they were made.
type Folder string

// Tenant is the owner of a video. API keys of one tenant never see another's videos.
type Tenant string

// DefaultTenant is the tenant of the bootstrap API key.
const DefaultTenant Tenant = "default"

// isUUID reports whether s has the shape of a UUID. Every request for a file asks.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return false
			}
		}
	}
	return true
}

// ParseID returns s as an ID, or an Invalid error naming field.
func ParseID(field, s string) (ID, error) {
	if !isUUID(s) {
		return "", InvalidFields(Fault{field, "invalid_uuid", "must be a UUID such as 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"})
	}
	return ID(strings.ToLower(s)), nil
}

// Video is one uploaded video and everything known about it.
type Video struct {
	ID          ID
	ObjectsIn   Folder // where its objects lie, if that is not its own ID; see Folder
	BeforeIn    Folder // where the objects of the file lie that was replaced last; "": they are removed
	BeforeUntil time.Time
	Replaces    ID // it is hidden, and this video takes its file when it is ready; see WithFileOf
	Tenant      Tenant
	KeyID       string // of the API key that created it
	Filename    string // a label chosen by the client; never part of a path
	Title       string // for people; a video without one of its own has its DefaultTitle
	ContentType string // the Content-Type that the upload must have
	IsPublic    bool
	Moving      Visibility      // where the files are going while IsPublic changes; "": they are where they belong
	Upscale     bool            // enlarge small sources to the requested size
	Metadata    json.RawMessage // nil when the client gave none
	Tags        []string        // in the order of the client
	Thumbnails  []float64       // seconds, in the order given
	Codecs      []Codec         // in which it is made beside H.264
	Popular     []Codec         // those that are in Codecs because it was watched much
	MaxDuration time.Duration   // a longer file fails; 0: any length
	Trim        *Trim           // nil: all of the file
	Watermark   *Watermark      // laid over everything that is made of it; nil: none
	HDR         HDR             // what becomes of a brighter source; "": as ToSDR
	Profile     *Profile        // as it was when a client chose it; nil: none
	AcceptAudio bool            // a file with sound and no picture is made with a still
	Loudness    Levelling       // what becomes of the loudness of its sound; "": as KeepLoudness
	Speech      *Speech         // what programs make of what is said; nil: nothing was asked for
	CopySource  CopySource      // whether its picture may be copied; "": as NeverCopy

	// AllowedOrigins are the sites on which it may be played; nil: everywhere; empty: in pages of this server only.
	AllowedOrigins []string
	AllowNoOrigin  bool // also for requests that name no site

	Status  Status
	Failure *Failure // set when Status is Fail
	// Warnings are defects of the source that did not fail the video.
	Warnings []Warning

	CreatedAt       time.Time
	UploadExpiresAt time.Time
	CompletedAt     time.Time // zero until an upload was verified and accepted
	ReplacedAt      time.Time // when its file was replaced last; zero: never
	PlayableAt      time.Time // when it could be played first: while it was still being encoded, or with its first resolution
	DeletedAt       time.Time // set while a deletion is in progress; reads do not find the video
	ExpiresAt       time.Time // when it is deleted by itself; zero: never
	ExpiryTold      bool      // webhooks were told of that

	Imported       bool    // its file is fetched from an address instead of being uploaded
	ImportProgress float64 // how much of it was fetched, from 0 to 1

	Source   Source // until CompletedAt it has only the Size of the file that was uploaded, if that is known
	Duration time.Duration
	Plan     *Plan // nil until the file has been inspected

	Resolutions []Resolution // in the requested order
	Files       []File       // published beside them, in the order they were made
	Sound       *Sound       // its sound tracks; nil until the file has been inspected
	SizeBytes   int64        // of all files; the store keeps it at Size
	// Awaited names files that a ready video does not list yet. The code that reads open tasks sets it;
	// it is not stored.
	Awaited []string
}

// Draft is a request for a new video.
type Draft struct {
	Filename    string // of an import it may be empty, and Resolutions nil; see WithDefaults
	Resolutions []Name
	IsPublic    bool
	Thumbnails  []float64       // timestamps in seconds
	Metadata    json.RawMessage // a JSON object, or nil
	Upscale     *bool           // nil: the server's default
	Key         string          // the request's Idempotency-Key; may be empty
	// Title may be empty. Idempotency records hold a digest of the draft, so a field that is new
	// leaves no trace where it is not used.
	Title string   `json:",omitempty"`
	Tags  []string `json:",omitempty"`
	// ExpiresAt is when the video is deleted; nil: never.
	ExpiresAt *time.Time `json:",omitempty"`
	// SourceURL is where the file is fetched from; nil: a client uploads it.
	SourceURL *string `json:",omitempty"`
	// Codecs may be nil: the server's default.
	Codecs []Codec `json:",omitempty"`
	// MaxSeconds is how long the video may be; nil: of any length.
	MaxSeconds *float64 `json:",omitempty"`
	// Trim is the part of the file to make; nil: all of it.
	Trim *Trim `json:",omitempty"`
	// Clip is the part of another video that this one is made of; nil: it has a file of its own.
	Clip *Clip `json:",omitempty"`
	// Replaces is the video whose file it will replace; "": it is a video of its own.
	Replaces ID `json:",omitempty"`

	// HDR may be "": the server's default.
	HDR HDR `json:",omitempty"`
	// Profile is the name of a profile; "": none. nil is none, too, or the one of the file before.
	Profile *string `json:",omitempty"`
	// AcceptAudio may be nil: the server's default.
	AcceptAudio *bool `json:",omitempty"`
	// CopySource may be "": the server's default.
	CopySource CopySource `json:",omitempty"`
	// Loudness may be "": the server's default.
	Loudness Levelling `json:",omitempty"`

	AllowedOrigins []string `json:",omitzero"` // nil: everywhere
	AllowNoOrigin  bool     `json:",omitempty"`
	// Transcribe may be nil: the server's default.
	Transcribe *Transcribe `json:",omitempty"`
	// Translate are the languages into which what is said is translated.
	Translate []string `json:",omitempty"`
	// Watermark may be nil: the tenant's usual one. One without an ID is none.
	Watermark *WatermarkChoice `json:",omitempty"`
}

// Video returns the video that d asks for, as far as the client decides.
func (d *Draft) Video() Video {
	v := Video{
		Filename: d.Filename, Title: TitleOf(d.Title, d.Filename), IsPublic: d.IsPublic, Metadata: d.Metadata, Tags: CleanTags(d.Tags),
		Thumbnails: d.Thumbnails, Codecs: WithoutH264(d.Codecs), Imported: d.SourceURL != nil, Replaces: d.Replaces,
		Trim: d.Trim, HDR: d.HDR, CopySource: d.CopySource, Loudness: d.Loudness,
		AllowedOrigins: CleanOrigins(d.AllowedOrigins), AllowNoOrigin: d.AllowNoOrigin,
	}
	if d.Upscale != nil {
		v.Upscale = *d.Upscale
	}
	if d.AcceptAudio != nil {
		v.AcceptAudio = *d.AcceptAudio
	}
	if d.MaxSeconds != nil {
		v.MaxDuration = time.Duration(*d.MaxSeconds * float64(time.Second))
	}
	if d.ExpiresAt != nil {
		v.expire(*d.ExpiresAt)
	}
	return v
}

// Source is the uploaded file as it was verified. Nothing writes to Key again, so
// the verified bytes are the bytes that are transcoded.
type Source struct {
	Key    string
	Size   int64
	ETag   string
	SHA256 string // hexadecimal; "" if not all bytes passed through Spool
}

// Resolution is one output of a video.
type Resolution struct {
	ID      ResolutionID
	VideoID ID
	Name    Name
	Status  Status
	Failure *Failure // set when Status is Fail

	// Known once Status is Ready.
	Width, Height int
	SizeBytes     int64
	Bitrate       int64 // bits per second
	Copied        bool  // its picture is the source's own

	Quality *QualityScore // compared with the source; nil until measured

	Variants []Variant // in other codecs, as far as they are made; see Video.Variants
}

// Folder returns where the objects of the video lie. Uploads alone always lie under its ID.
func (v *Video) Folder() Folder {
	if v.ObjectsIn != "" {
		return v.ObjectsIn
	}
	return Folder(v.ID)
}

// Folders returns where the objects lie that people may play: of its file, and of the one before while that is kept.
func (v *Video) Folders() []Folder {
	if v.BeforeIn == "" {
		return []Folder{v.Folder()}
	}
	return []Folder{v.Folder(), v.BeforeIn}
}

// Resolution returns the resolution with this name, if the video has one.
func (v *Video) Resolution(name Name) (Resolution, bool) {
	for _, r := range v.Resolutions {
		if r.Name == name {
			return r, true
		}
	}
	return Resolution{}, false
}

// SameAs returns the smallest resolution that has the same file as r, or "" if that is r itself.
func (v *Video) SameAs(r Resolution) Name {
	smallest := r.Name
	for _, other := range v.Resolutions {
		if other.Name.ShortSide() < smallest.ShortSide() && v.shareFile(r, other) {
			smallest = other.Name
		}
	}
	if smallest == r.Name {
		return ""
	}
	return smallest
}

// shareFile reports whether two resolutions have copies of one file, or will have. The plan of a finished video is
// not read, so ready ones are recognised by their sizes, which agree to the byte in copies only.
func (v *Video) shareFile(a, b Resolution) bool {
	switch {
	case a.Status != b.Status:
		return false
	case a.Status == Ready:
		return a.Width == b.Width && a.Height == b.Height && a.SizeBytes == b.SizeBytes
	case a.Status == Processing && v.Plan != nil:
		n := v.Plan.RenditionOf(a.Name)
		return n >= 0 && n == v.Plan.RenditionOf(b.Name)
	}
	return false
}

// Size adds up the sizes of the uploaded file, of all resolutions and of the files beside them. Thumbnails, whose
// sizes are not known, do not count.
func (v *Video) Size() int64 {
	sum := v.Source.Size
	for _, r := range v.Resolutions {
		sum += r.SizeBytes
	}
	for _, f := range v.Files {
		sum += f.Size
	}
	return sum
}

// Unplanned lists the resolutions in processing that the plan does not cover: all
// of them before the first inspection, later those that were added or retried.
func (v *Video) Unplanned() []Name {
	var names []Name
	for _, r := range v.Resolutions {
		if r.Status == Processing && (v.Plan == nil || v.Plan.RenditionOf(r.Name) < 0) {
			names = append(names, r.Name)
		}
	}
	return names
}

// UploadOpen reports whether the upload URL still accepts a file at now.
func (v *Video) UploadOpen(now time.Time) bool {
	return v.CompletedAt.IsZero() && now.Before(v.UploadExpiresAt)
}

// Settled reports whether the video stays as it is unless a client acts: it is
// ready, or it failed and another upload cannot mend it.
func (v *Video) Settled(now time.Time) bool {
	return v.Status == Ready || v.Status == Fail && !v.UploadOpen(now)
}
