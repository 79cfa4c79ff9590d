// Package failpoint names the places between two writes that belong together, where a crash leaves
// one without the other. Tests kill the process at each of them.
package failpoint

// Point is one such place.
type Point string

const (
	UploadStored     Point = "upload-stored"     // the bytes are stored, the client does not know
	SourcePinned     Point = "source-pinned"     // the copy is stored, the video not yet processing
	UploadAccepted   Point = "upload-accepted"   // processing, the uploaded object not yet removed
	PartStored       Point = "part-stored"       // chunk files are stored, their step not yet done
	RenditionStaged  Point = "rendition-staged"  // the rendition file is stored, not yet published
	RenditionLinked  Point = "rendition-linked"  // playable, the transaction not yet committed
	ThumbnailsStaged Point = "thumbnails-staged" // thumbnails are stored, not yet published
	FilesStaged      Point = "files-staged"      // other files of the video are stored, not yet published
	VariantStored    Point = "variant-stored"    // chunk files of another codec are stored, their step not yet done
	VariantStaged    Point = "variant-staged"    // the file in another codec is stored, not yet published
	VariantLinked    Point = "variant-linked"    // it is playable, the transaction not yet committed
	TrackStored      Point = "track-stored"      // a file for a sound track is stored, the track is not recorded
	TrackStaged      Point = "track-staged"      // its track is made and stored, not yet published
	FilmsStaged      Point = "films-staged"      // MP4 files with another sound track are stored, not yet published
	FilmsLinked      Point = "films-linked"      // they are playable, the transaction not yet committed
	VideoDeleted     Point = "video-deleted"     // marked deleted, its objects still there
	ObjectsRemoved   Point = "objects-removed"   // objects are gone, the row is still there
	ResolutionGone   Point = "resolution-gone"   // the row is gone, objects perhaps not
	ReplacePrepared  Point = "replace-prepared"  // a new file is ready, the video has the old one
	ReplaceWritten   Point = "replace-written"   // the rows are changed, the transaction not yet committed
	Replaced         Point = "replaced"          // the video has the new file, the old objects are still there

	VisibilityRecorded Point = "visibility-recorded" // what isPublic shall be is recorded, no file has moved
	VisibilityOpened   Point = "visibility-opened"   // the row says public, the files are still private
	VisibilityCopied   Point = "visibility-copied"   // files are in both areas
	VisibilityMoved    Point = "visibility-moved"    // all files have moved, the row does not say so yet
)

// The points of the commands backup, restore and migrate, which no server reaches.
const (
	ObjectBackedUp Point = "object-backed-up" // an object is in the backup, the rest is not
	DatabaseMade   Point = "database-made"    // the tables of a restore are there, not yet marked as its own
	ObjectRestored Point = "object-restored"  // an object is restored, the rest is not
	RowsRestored   Point = "rows-restored"    // all rows are restored, their tasks are not
)

// All lists every point of a server.
var All = []Point{UploadStored, SourcePinned, UploadAccepted, PartStored, RenditionStaged, RenditionLinked,
	ThumbnailsStaged, FilesStaged, VariantStored, VariantStaged, VariantLinked, TrackStored, TrackStaged, FilmsStaged, FilmsLinked,
	VideoDeleted, ObjectsRemoved, ResolutionGone,
	VisibilityRecorded, VisibilityOpened, VisibilityCopied, VisibilityMoved,
	ReplacePrepared, ReplaceWritten, Replaced}

// Hook is called at each point that the process reaches. A nil Hook does nothing.
type Hook func(Point)

// Reach tells the hook that p was reached.
func (h Hook) Reach(p Point) {
	if h != nil {
		h(p)
	}
}
