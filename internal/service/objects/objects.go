// Package objects builds and parses the keys of stored objects. It is pure: it knows neither the
// storage nor the database.
//
// Every object of a video lies in one of five areas, followed by a folder (video.Folder), which is the video's ID unless
// its file was replaced:
//
//	upload/{folder}/file            what the client uploaded, until it is verified
//	upload/{folder}/file.info       the record of a resumable upload
//	upload/{folder}/file.part       its bytes that do not fill a part of the final object yet
//	source/{folder}/{random}        the verified file; never written again
//	source/{folder}/still.png       the picture that was made for it, if it has none
//	source/{folder}/track-{random}  a file of which a sound track is made
//	work/{folder}/…                 chunk files and staged results of a pass
//	public/{folder}/720p.mp4        what is played, of public videos
//	private/{folder}/720p.mp4       and of private ones
//	{public|private}/{folder}/720p-0.jpg  thumbnails, numbered in the order asked for; also .avif and .webp
//	{public|private}/{folder}/{name}      files that the video lists (video.File)
//
// Beside these, owner/{database} is a small object that marks whose storage it is.
//
// An unsigned playback address reaches public/ only, a signed one the file that it was signed for.
package objects

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/video"
)

// Area is the first element of a key.
type Area string

const (
	Uploads Area = "upload"
	Sources Area = "source"
	Work    Area = "work"
	Public  Area = "public"
	Private Area = "private"
)

// Areas lists the areas that hold objects of videos.
var Areas = []Area{Uploads, Sources, Work, Public, Private}

// Prefix is what the keys of the objects in a folder of this area start with.
func (a Area) Prefix(f video.Folder) string { return string(a) + "/" + string(f) + "/" }

// Root is what the keys of all objects in this area start with.
func (a Area) Root() string { return string(a) + "/" }

// Markers is what the keys of ownership markers start with.
const Markers = "owner/"

// Marker is the key of the ownership marker of a database.
func Marker(database string) string { return Markers + database }

// Upload is the key of the uploaded file.
func Upload(id video.ID) string { return Uploads.Prefix(video.Folder(id)) + "file" }

// UploadRecord is the key of the object that describes a resumable upload.
func UploadRecord(id video.ID) string { return Upload(id) + ".info" }

// UploadKeys are the keys of all objects that an upload may leave.
func UploadKeys(id video.ID) []string {
	return []string{Upload(id), UploadRecord(id), Upload(id) + ".part"}
}

// Source is the key of a verified file. unique tells it from other copies.
func Source(id video.ID, unique string) string { return Sources.Prefix(video.Folder(id)) + unique }

// Still is the key of the picture of a video whose file has none. It is made of the verified file, and kept as long.
func Still(in video.Folder) string { return Sources.Prefix(in) + "still.png" }

// NewSource is the key of a new copy of a video's file. It contains the time at which the copy begins,
// by the clock of the caller (a UUID of version 7).
func NewSource(id video.ID, begun time.Time) string {
	return Source(id, newUnique(begun))
}

// newUnique returns a UUID of version 7 for a time.
func newUnique(begun time.Time) string {
	unique := uuid.New()
	binary.BigEndian.PutUint64(unique[:8], uint64(begun.UnixMilli())<<16|uint64(unique[6]&0x0f|7<<4)<<8|uint64(unique[7]))
	return unique.String()
}

// trackMark is what the rest of the key of a file begins with of which a sound track is made.
const trackMark = "track-"

// NewTrackSource is the key of a file of which a sound track is made. It contains the time at which it begins to arrive.
func NewTrackSource(in video.Folder, begun time.Time) string {
	return Sources.Prefix(in) + trackMark + newUnique(begun)
}

// IsTrackSource reports whether a key was made by NewTrackSource.
func IsTrackSource(key string) bool {
	area, _, rest, _ := Parse(key)
	return area == Sources && strings.HasPrefix(rest, trackMark)
}

// SourceBegun returns when the copy of a source, or a file for a sound track, began.
func SourceBegun(key string) (begun time.Time, ok bool) {
	area, _, rest, _ := Parse(key)
	unique, err := uuid.Parse(strings.TrimPrefix(rest, trackMark))
	if area != Sources || err != nil || unique.Version() != 7 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(unique[:8]) >> 16)), true
}

// Chunk is the key of the file of one chunk at one rendition; codec "" is H.264. run is the name of one execution
// of the task, which keeps its files apart from other executions.
func Chunk(in video.Folder, c video.Codec, chunk, rendition int, run string) string {
	return fmt.Sprintf("%schunk-%d-%d-%s.mp4", workPrefix(in, c), chunk, rendition, run)
}

// Audio is the key of a piece of the encoded audio.
func Audio(in video.Folder, piece int, run string) string {
	return fmt.Sprintf("%saudio-%d-%s.mp4", Work.Prefix(in), piece, run)
}

// StagedRendition is where a finished rendition file waits for the transaction that publishes it; codec "" is H.264.
func StagedRendition(in video.Folder, c video.Codec, rendition int) string {
	return fmt.Sprintf("%sfilm-%d.mp4", workPrefix(in, c), rendition)
}

func workPrefix(in video.Folder, c video.Codec) string {
	if c == "" {
		return Work.Prefix(in)
	}
	return Work.Prefix(in) + string(c) + "-"
}

var workName = regexp.MustCompile(`^(?:([a-z0-9]+)-)?(?:chunk-[0-9]+-([0-9]+)-[0-9a-f]+|film-[0-9]+)\.mp4$`)

// IsVariantWork reports whether an object is made in another codec and waits to be published.
func IsVariantWork(key string) bool {
	area, _, rest, _ := Parse(key)
	m := workName.FindStringSubmatch(rest)
	return area == Work && m != nil && m[1] != ""
}

// IsChunkOf reports whether an object is a chunk file of a rendition; codec "" is H.264.
func IsChunkOf(key string, c video.Codec, rendition int) bool {
	area, _, rest, _ := Parse(key)
	m := workName.FindStringSubmatch(rest)
	return area == Work && m != nil && m[1] == string(c) && m[2] == strconv.Itoa(rendition)
}

// StagedThumbnail is where a finished thumbnail waits to be published; format "" means JPEG. Thumbnails in
// other formats are staged as StagedFile, because they are made after the chunk files are no longer needed.
func StagedThumbnail(in video.Folder, rendition, thumbnail int, f video.PictureFormat) string {
	jpeg := fmt.Sprintf("thumbnail-%d-%d.jpg", rendition, thumbnail)
	if f == "" {
		return Work.Prefix(in) + jpeg
	}
	return StagedFile(in, video.AlternateFile(jpeg, f))
}

// StagedFile is where a finished file that a video will list waits to be published.
func StagedFile(in video.Folder, name string) string { return Work.Prefix(in) + staged + name }

const staged = "file-"

// IsStagedFile reports whether a key was made by StagedFile.
func IsStagedFile(key string) bool {
	area, _, rest, _ := Parse(key)
	return area == Work && strings.HasPrefix(rest, staged)
}

// PlaybackArea is the area of the files that people play of a video. While they move from the other area, it is
// the one that they go to, and where new files are written.
func PlaybackArea(v video.Video) Area {
	if v.FilesPublic() {
		return Public
	}
	return Private
}

// Playback is the key of a file that people play.
func Playback(v video.Video, file string) string { return PlaybackArea(v).Prefix(v.Folder()) + file }

// VersionOf tells the versions of a video's file apart in the names of the files of streams: each has a folder of its
// own. The first one is "". The last digits of an ID are random.
func VersionOf(id video.ID, in video.Folder) string {
	if in == video.Folder(id) {
		return ""
	}
	return string(in[strings.LastIndexByte(string(in), '-')+1:])
}

// Places are all keys that a file which people play may have, Playback first: while isPublic changes, the file may
// still have the other one.
func Places(v video.Video, file string) []string {
	key := Playback(v, file)
	return []string{key, Counterpart(key)}
}

// Counterpart returns the key that a file which people play has, or had, while isPublic is the opposite. Other keys have
// none, and stay as they are.
func Counterpart(key string) string {
	if rest, ok := strings.CutPrefix(key, Public.Root()); ok {
		return Private.Root() + rest
	}
	if rest, ok := strings.CutPrefix(key, Private.Root()); ok {
		return Public.Root() + rest
	}
	return key
}

// Parse splits a key into its area, its folder and the rest.
func Parse(key string) (area Area, in video.Folder, rest string, ok bool) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) != 3 {
		return "", "", "", false
	}
	return Area(parts[0]), video.Folder(parts[1]), parts[2], true
}
