package video

import (
	"slices"
	"time"
)

// WithFileOf returns v with the file of c, and with everything that was made of it. v keeps what people know it by: its
// ids, its title, who may see it, that it is popular, and what clients have uploaded beside the file. A poster that was a frame of the file
// before goes with it. The objects of that file stay for a while.
func (v Video) WithFileOf(c Video, until time.Time) Video {
	v.BeforeIn, v.BeforeUntil, v.ObjectsIn = v.Folder(), until, c.Folder()
	v.Filename, v.ContentType, v.Upscale, v.Thumbnails, v.Codecs = c.Filename, c.ContentType, c.Upscale, c.Thumbnails, c.Codecs
	v.Trim, v.MaxDuration, v.Watermark, v.HDR, v.AcceptAudio, v.CopySource = c.Trim, c.MaxDuration, c.Watermark, c.HDR, c.AcceptAudio, c.CopySource
	v.Profile, v.Loudness = c.Profile, c.Loudness
	v.Speech = v.Speech.Again()
	v.Status, v.Failure, v.Warnings = c.Status, c.Failure, c.Warnings
	v.UploadExpiresAt, v.CompletedAt, v.PlayableAt = c.UploadExpiresAt, c.CompletedAt, c.PlayableAt
	v.Imported, v.ImportProgress = c.Imported, c.ImportProgress
	v.Source, v.Duration, v.Plan, v.Sound = c.Source, c.Duration, c.Plan, c.Sound
	v.Resolutions, v.Files = resolutionsAfter(v, c), filesAfter(v, c)
	v.SizeBytes = v.Size()
	return v
}

// resolutionsAfter returns the resolutions of c. Those that v has, too, keep their ids.
func resolutionsAfter(v, c Video) []Resolution {
	all := slices.Clone(c.Resolutions)
	for i, r := range all {
		all[i].VideoID = v.ID
		if had, ok := v.Resolution(r.Name); ok {
			all[i].ID = had.ID
		}
	}
	return all
}

// filesAfter returns the files of c and those that clients have uploaded for v. Uploaded captions go before captions of the
// file in the same language, and an uploaded poster before any other.
func filesAfter(v, c Video) []File {
	kept := v.UploadedFiles()
	files := slices.DeleteFunc(slices.Clone(c.Files), func(f File) bool {
		return slices.ContainsFunc(kept, func(k File) bool {
			return f.Name == k.Name || f.IsCaptions() && k.IsCaptions() && k.Language == f.Language
		})
	})
	return append(files, kept...)
}

// UploadedFiles returns what clients have uploaded beside the file: captions, and a poster.
func (v *Video) UploadedFiles() []File {
	var all []File
	for _, f := range v.Files {
		if f.Source == Uploaded {
			all = append(all, f)
		}
	}
	return all
}

// ReplaceOpen is the error of what cannot be done while the file of a video is being replaced.
func ReplaceOpen() *Error {
	return &Error{Kind: Conflict, Code: "replace_open",
		Msg: "The file of this video is being replaced. Wait for the end of that, or give it up with DELETE /api/video/{id}/replace."}
}
