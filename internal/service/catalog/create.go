package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/video"
)

// Upload is a new video and where its file goes.
type Upload struct {
	Video    video.Video
	URL      string // "": the file is fetched from its source
	TusURL   string // for a resumable upload
	MaxBytes int64
	Repeated bool // an earlier request with the same key made the video
}

// Create makes a video that waits for its upload. base is what addresses handed out start with, such
// as "https://video.example.com".
func (c *Catalog) Create(ctx context.Context, by auth.Actor, d video.Draft, base string) (Upload, error) {
	if err := by.Require(auth.Write); err != nil {
		return Upload{}, err
	}
	return c.create(ctx, by, d, d, nil, base)
}

// create makes a video that a request asks for by the draft asked. d has what it left out, too. If it will replace the file
// of another video, that is before.
func (c *Catalog) create(ctx context.Context, by auth.Actor, asked, d video.Draft, before *video.Video, base string) (Upload, error) {
	_, speechFaults := c.config.Speech.For(d)
	profile, unknown := video.ProfileOf(d.ProfileName(), c.config.Profiles)
	if faults := slices.Concat(d.Check(), speechFaults, c.refusedCodecs(d.Codecs), c.checkHDR(d), unknown, video.CheckExpiry(d.ExpiresAt, c.now())); faults != nil {
		return Upload{}, video.InvalidFields(faults...)
	}
	if d.SourceURL != nil {
		if err := c.imports.Check(*d.SourceURL); err != nil {
			return Upload{}, err
		}
	}
	// Rows take disk space as well. Without this, creates alone could fill the disk.
	if err := c.space(ctx); err != nil {
		return Upload{}, err
	}
	if d.Clip != nil {
		return c.createClip(ctx, by, d, profile)
	}
	ttl, maxBytes := c.uploads.Limits()
	v, err := c.newVideo(by, d, profile, ttl)
	if err != nil {
		return Upload{}, err
	}
	if before != nil {
		v.Watermark = before.Watermark
		if d.Profile == nil {
			v.Profile = before.Profile
		}
	} else if v.Watermark, err = c.watermarks.For(ctx, by.Tenant, d.Watermark); err != nil {
		return Upload{}, err
	}
	if v.Imported {
		stored, err := c.insert(ctx, v, asked)
		return Upload{Video: stored, Repeated: stored.ID != v.ID}, err
	}
	address, err := c.uploads.URL(ctx, v, base)
	if err != nil {
		return Upload{}, err
	}
	stored, err := c.insert(ctx, v, asked)
	if err != nil {
		return Upload{}, err
	}
	repeated := stored.ID != v.ID
	if repeated {
		if address, err = c.uploads.URL(ctx, stored, base); err != nil {
			return Upload{}, err
		}
	}
	return Upload{
		Video: stored, URL: address, TusURL: c.uploads.ResumableURL(stored.ID, base), MaxBytes: maxBytes, Repeated: repeated,
	}, nil
}

// newVideo makes the video that a draft asks for, with the profile that it names.
func (c *Catalog) newVideo(by auth.Actor, d video.Draft, profile *video.Profile, ttl time.Duration) (video.Video, error) {
	resolutions := c.config.Resolutions
	if names := profile.Names(); len(names) > 0 {
		resolutions = names
	}
	d = d.WithDefaults(resolutions)
	// Times are stored to the millisecond, and addresses contain them: a client must be told exactly
	// what is stored.
	now := c.now().UTC().Truncate(time.Millisecond)
	v := d.Video()
	if d.AcceptAudio == nil {
		v.AcceptAudio = c.config.AcceptAudio
	}
	v.ID, v.Tenant, v.KeyID, v.ContentType = video.ID(newID()), by.Tenant, by.KeyID, contentType(d.Filename, v.AcceptAudio)
	v.Status, v.CreatedAt, v.UploadExpiresAt = video.PendingUpload, now, now.Add(ttl)
	if v.Imported {
		v.UploadExpiresAt = imports.Forever
	}
	if d.Upscale == nil {
		v.Upscale = c.config.Upscale
	}
	if d.Codecs == nil {
		v.Codecs = video.WithoutH264(c.config.Codecs.Default)
	}
	if d.HDR == "" {
		v.HDR = c.config.HDR
	}
	if d.Loudness == "" {
		v.Loudness = c.config.Loudness
	}
	v.Profile = profile
	v.Speech, _ = c.config.Speech.For(d) // create has checked it
	if d.CopySource == "" {
		v.CopySource = c.config.CopySource
	}
	var err error
	if v.Metadata, err = compactMetadata(d.Metadata); err != nil {
		return video.Video{}, err
	}
	for _, n := range video.Distinct(d.Resolutions) {
		v.Resolutions = append(v.Resolutions, video.Resolution{ID: video.ResolutionID(newID()), VideoID: v.ID, Name: n, Status: video.PendingUpload})
	}
	return v, nil
}

// compactMetadata removes the white space between tokens, which is not stored. nil stays nil.
func compactMetadata(object json.RawMessage) (json.RawMessage, error) {
	if object == nil {
		return nil, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, object); err != nil {
		return nil, fmt.Errorf("store metadata: %w", err)
	}
	return compact.Bytes(), nil
}

// newID returns ids that sort by the time they were made, which keeps new rows together in the
// database's indexes.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// contentTypes maps extensions to the type an upload must be sent as. Go's own table depends on the
// machine it runs on, and this one must not.
var contentTypes = map[string]string{
	".mp4": "video/mp4", ".m4v": "video/x-m4v", ".mov": "video/quicktime", ".qt": "video/quicktime",
	".webm": "video/webm", ".mkv": "video/x-matroska", ".avi": "video/x-msvideo",
	".mpg": "video/mpeg", ".mpeg": "video/mpeg", ".mpe": "video/mpeg", ".m1v": "video/mpeg", ".m2v": "video/mpeg", ".vob": "video/mpeg",
	".ts": "video/mp2t", ".mts": "video/mp2t", ".m2ts": "video/mp2t", ".m2t": "video/mp2t",
	".flv": "video/x-flv", ".f4v": "video/mp4", ".wmv": "video/x-ms-wmv", ".asf": "video/x-ms-asf",
	".3gp": "video/3gpp", ".3gpp": "video/3gpp", ".3g2": "video/3gpp2", ".ogv": "video/ogg", ".ogg": "video/ogg",
	".mxf": "application/mxf", ".dv": "video/x-dv", ".h264": "video/h264",
}

// soundTypes are the types of files with sound alone, for videos that may have one.
var soundTypes = map[string]string{
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".m4b": "audio/mp4", ".aac": "audio/aac", ".flac": "audio/flac", ".wav": "audio/wav",
	".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg", ".weba": "audio/webm", ".mka": "audio/x-matroska", ".wma": "audio/x-ms-wma",
	".aif": "audio/aiff", ".aiff": "audio/aiff", ".amr": "audio/amr", ".caf": "audio/x-caf", ".ac3": "audio/ac3", ".eac3": "audio/eac3",
}

// contentType returns what an upload must be sent as. sound says that it may be a file with sound alone. An unknown
// extension is no error: the content of the file decides, when the upload is completed.
func contentType(filename string, sound bool) string {
	extension := strings.ToLower(path.Ext(filename))
	if t, ok := soundTypes[extension]; ok && sound {
		return t
	}
	if t, ok := contentTypes[extension]; ok {
		return t
	}
	return "application/octet-stream"
}
