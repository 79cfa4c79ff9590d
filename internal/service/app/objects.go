package app

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// Every object lies in one of these places, followed by its video's id:
//
//	upload/{video}/file            what the client uploaded, until it is verified
//	upload/{video}/file.info       what is known about an upload in pieces
//	upload/{video}/file.part       its bytes, as far as they are no part of a larger whole
//	source/{video}/{random}        the verified file; never written again
//	work/{video}/…                 pieces of a transcoding under way
//	public/{video}/720p.mp4        what is played, of public videos
//	private/{video}/720p.mp4       and of private ones
//	{public|private}/{video}/720p-0.jpg  thumbnails, numbered in the order asked for
//
// and owner/{database}, which is empty, says whose storage it is: see Claim.
//
// A playback address names its object directly, so serving it needs no query:
// an unsigned address reaches public/ only, a signed one what it was signed for.
const (
	uploadPlace  = "upload"
	sourcePlace  = "source"
	workPlace    = "work"
	publicPlace  = "public"
	privatePlace = "private"

	ownerPlace = "owner"
)

// places are those of videos.
var places = []string{uploadPlace, sourcePlace, workPlace, publicPlace, privatePlace}

func folder(place string, id video.ID) string { return place + "/" + string(id) + "/" }

func uploadKey(id video.ID) string { return folder(uploadPlace, id) + "file" }

// recordKey is where an upload in pieces is described.
func recordKey(id video.ID) string { return uploadKey(id) + ".info" }

// uploadKeys are all that an upload may leave.
func uploadKeys(id video.ID) []string {
	return []string{uploadKey(id), recordKey(id), uploadKey(id) + ".part"}
}

func pieceKey(id video.ID, chunk, rendition int) string {
	return fmt.Sprintf("%schunk-%d-%d.mp4", folder(workPlace, id), chunk, rendition)
}

func audioKey(id video.ID) string { return folder(workPlace, id) + "audio.mp4" }

// stagedKey is where a finished film waits for the transaction that publishes it.
func stagedKey(id video.ID, rendition int) string {
	return fmt.Sprintf("%sfilm-%d.mp4", folder(workPlace, id), rendition)
}

func stagedThumbnailKey(id video.ID, rendition, thumbnail int) string {
	return fmt.Sprintf("%sthumbnail-%d-%d.jpg", folder(workPlace, id), rendition, thumbnail)
}

// playPlace is where the files of a video that people play lie.
func playPlace(v video.Video) string {
	if v.IsPublic {
		return publicPlace
	}
	return privatePlace
}

func playFolder(v video.Video) string { return folder(playPlace(v), v.ID) }

func filmFile(n video.Name) string { return string(n) + ".mp4" }

func thumbnailFile(n video.Name, i int) string { return string(n) + "-" + strconv.Itoa(i) + ".jpg" }

var playFile = regexp.MustCompile(`^([0-9]+[pk])(?:\.mp4|-([0-9]{1,2})\.jpg)$`)

// parsePlayFile splits the name of a file that people play. thumbnail is -1 for
// the film itself.
func parsePlayFile(file string) (name video.Name, thumbnail int, ok bool) {
	m := playFile.FindStringSubmatch(file)
	if m == nil || !video.Name(m[1]).Valid() {
		return "", 0, false
	}
	if m[2] == "" {
		return video.Name(m[1]), -1, true
	}
	i, err := strconv.Atoi(m[2])
	// "00" would be a second address of the same picture, and no object.
	return video.Name(m[1]), i, err == nil && strconv.Itoa(i) == m[2]
}

// parseKey splits an object's key into its place, its video and the rest.
func parseKey(key string) (place string, id video.ID, rest string, ok bool) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], video.ID(parts[1]), parts[2], true
}

// contentTypes maps extensions to the type an upload must be sent as. Go's own
// table depends on the machine it runs on, and ours must not.
var contentTypes = map[string]string{
	".mp4": "video/mp4", ".m4v": "video/x-m4v", ".mov": "video/quicktime", ".qt": "video/quicktime",
	".webm": "video/webm", ".mkv": "video/x-matroska", ".avi": "video/x-msvideo",
	".mpg": "video/mpeg", ".mpeg": "video/mpeg", ".mpe": "video/mpeg", ".m1v": "video/mpeg", ".m2v": "video/mpeg", ".vob": "video/mpeg",
	".ts": "video/mp2t", ".mts": "video/mp2t", ".m2ts": "video/mp2t", ".m2t": "video/mp2t",
	".flv": "video/x-flv", ".f4v": "video/mp4", ".wmv": "video/x-ms-wmv", ".asf": "video/x-ms-asf",
	".3gp": "video/3gpp", ".3gpp": "video/3gpp", ".3g2": "video/3gpp2", ".ogv": "video/ogg", ".ogg": "video/ogg",
	".mxf": "application/mxf", ".dv": "video/x-dv", ".h264": "video/h264",
}

// contentType chooses what an upload must be sent as. An extension that nobody
// knows is no error: the file's content decides, at complete-upload.
func contentType(filename string) string {
	if t, ok := contentTypes[strings.ToLower(path.Ext(filename))]; ok {
		return t
	}
	return "application/octet-stream"
}
