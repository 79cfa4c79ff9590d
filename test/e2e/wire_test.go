package e2e

import (
	"encoding/json"
	"time"
)

// newVideo is the body of a create request.
type newVideo struct {
	Filename       string          `json:"filename"`
	Title          string          `json:"title,omitempty"`
	Resolutions    []string        `json:"resolutions,omitempty"`
	IsPublic       bool            `json:"isPublic"`
	Thumbnails     []float64       `json:"thumbnailTimestampsSeconds,omitempty"`
	CustomMetadata json.RawMessage `json:"customMetadata,omitempty"`
	Upscale        bool            `json:"upscale,omitempty"`
	Codecs         []string        `json:"codecs,omitempty"`
	HDR            string          `json:"hdr,omitempty"`
	Profile        string          `json:"profile,omitempty"`
	AcceptAudio    bool            `json:"acceptAudio,omitempty"`
	CopySource     string          `json:"copySource,omitempty"`
	Loudness       string          `json:"loudness,omitempty"`
	Tags           []string        `json:"tags,omitempty"`
	ExpiresAt      string          `json:"expiresAt,omitempty"`
	MaxDuration    float64         `json:"maxDurationSeconds,omitempty"`
	Trim           *trim           `json:"trim,omitempty"`
}

// trim is the part of a file to make.
type trim struct {
	StartSeconds float64 `json:"startSeconds,omitempty"`
	EndSeconds   float64 `json:"endSeconds,omitempty"`
}

// statuses is what create and complete tell about the resolutions.
type statuses map[string]struct {
	Status string `json:"status"`
}

// upload is the answer to a create request.
type upload struct {
	ID              string    `json:"id"`
	UploadURL       string    `json:"uploadUrl"`
	ContentType     string    `json:"contentType"`
	IsPublic        bool      `json:"isPublic"`
	Resolutions     statuses  `json:"resolutions"`
	UploadExpiresAt time.Time `json:"uploadExpiresAt"`
	MaxUploadBytes  int64     `json:"maxUploadBytes"`
	TusURL          string    `json:"tusUrl"`
}

// completed is the answer to a complete request.
type completed struct {
	ID          string   `json:"id"`
	IsPublic    bool     `json:"isPublic"`
	Resolutions statuses `json:"resolutions"`
}

// watch is the answer to a read.
type watch struct {
	ID              string                `json:"id"`
	Status          string                `json:"status"`
	IsPublic        bool                  `json:"isPublic"`
	CustomMetadata  json.RawMessage       `json:"customMetadata"`
	Resolutions     map[string]resolution `json:"resolutions"`
	AudioTracks     []audioTrack          `json:"audioTracks"`
	HLSURL          string                `json:"hlsUrl"`
	DASHURL         string                `json:"dashUrl"`
	PosterURL       string                `json:"posterUrl"`
	ThumbnailURL    string                `json:"thumbnailUrl"`
	EmbedURL        string                `json:"embedUrl"`
	WatchURL        string                `json:"watchUrl"`
	StoryboardURL   string                `json:"storyboardUrl"`
	PreviewURL      string                `json:"previewUrl"`
	DurationSeconds float64               `json:"durationSeconds"`
	Progress        float64               `json:"progress"`
	Playable        bool                  `json:"playable"`
	Failure         *failure              `json:"failure"`
	Warnings        []failure             `json:"warnings"`
	Replacement     *replacement          `json:"replacement"`
	Profile         string                `json:"profile"`
}

type replacement struct {
	Status  string   `json:"status"`
	Failure *failure `json:"failure"`
}

type resolution struct {
	ID                 string   `json:"id"`
	Status             string   `json:"status"`
	VideoURL           string   `json:"videoUrl"`
	ThumbnailImageURLs []string `json:"thumbnailImageUrls"`
	Width              int      `json:"width"`
	Height             int      `json:"height"`
	SizeBytes          int64    `json:"sizeBytes"`
	Bitrate            int64    `json:"bitrate"`
	Method             string   `json:"method"`
	Progress           float64  `json:"progress"`
	Failure            *failure `json:"failure"`

	Variants []codecVariant `json:"variants"`
}

// codecVariant is a resolution in one codec.
type codecVariant struct {
	Codec     string   `json:"codec"`
	Range     string   `json:"dynamicRange"`
	Status    string   `json:"status"`
	VideoURL  string   `json:"videoUrl"`
	SizeBytes int64    `json:"sizeBytes"`
	Bitrate   int64    `json:"bitrate"`
	Failure   *failure `json:"failure"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// problem is the body of the answer to a request that failed.
type problem struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail"`
	Instance  string  `json:"instance"`
	Code      string  `json:"code"`
	RequestID string  `json:"requestId"`
	Errors    []fault `json:"errors"`
}

type fault struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}
