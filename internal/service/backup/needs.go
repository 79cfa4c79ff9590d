package backup

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// need is what a backup has to hold of a video, as a line of a spool.
type need struct {
	Video    video.ID `json:"video"`
	Folders  []string `json:"folders"`            // prefixes: everything there is copied
	Source   string   `json:"source,omitempty"`   // copied if it is there
	Required []string `json:"required,omitempty"` // must be there
}

// needOf returns what a backup needs of a video. inWork says whether it has open steps.
func needOf(v video.Video, inWork bool) need {
	n := need{Video: v.ID, Folders: []string{objects.PlaybackArea(v).Prefix(v.Folder())}}
	if v.Moving != "" { // the rest of the files
		n.Folders = append(n.Folders, objects.Counterpart(n.Folders[0]))
	}
	if !v.CompletedAt.IsZero() { // else its bytes have to be sent again
		n.Source = v.Source.Key
	}
	if v.AcceptAudio && n.Source != "" {
		n.Folders = append(n.Folders, objects.Still(v.Folder()))
	}
	if inWork || v.Status == video.Processing {
		n.Folders = append(n.Folders, objects.Work.Prefix(v.Folder()))
	}
	n.Required = required(v)
	return n
}

// required returns the keys of the objects without which a video is broken. Thumbnails are not among
// them: a thumbnail that could not be made is missing for ever. Nor is the source of a finished video, which
// may have been removed (keep_source).
func required(v video.Video) []string {
	var keys []string
	if v.Status == video.Processing && v.Source.Key != "" {
		keys = append(keys, v.Source.Key)
	}
	for _, r := range v.Resolutions {
		if r.Status == video.Ready {
			keys = append(keys, objects.Playback(v, objects.RenditionFile(r.Name)))
		}
	}
	for _, f := range v.Files {
		keys = append(keys, objects.Playback(v, f.Name))
	}
	for _, t := range v.AudioTracks() {
		if t.Waits() {
			keys = append(keys, t.Upload)
		}
	}
	return keys
}

// videoPage is how many videos are read at a time.
const videoPage = 100

// writeNeeds writes what each video of a view needs, in the order of their ids, and returns how many
// there are and how large their objects are.
func writeNeeds(ctx context.Context, view *store.Snapshot, out *lineFile) (videos, bytes int64, err error) {
	after := video.ID("")
	for {
		page, err := view.Videos(ctx, after, videoPage)
		if err != nil || len(page) == 0 {
			return videos, bytes, err
		}
		after = page[len(page)-1].ID
		page = slices.DeleteFunc(page, func(v video.Video) bool { return !v.DeletedAt.IsZero() })
		ids := make([]video.ID, len(page))
		for i, v := range page {
			ids[i] = v.ID
		}
		inWork := map[video.ID]bool{}
		if len(ids) > 0 {
			if inWork, err = inWorkOf(ctx, view.Queries, ids); err != nil {
				return videos, bytes, err
			}
		}
		for _, v := range page {
			videos, bytes = videos+1, bytes+v.SizeBytes
			if v.CompletedAt.IsZero() && len(v.Files) == 0 {
				continue // its bytes have to be sent again
			}
			if err := out.writeLine(needOf(v, inWork[v.ID])); err != nil {
				return videos, bytes, err
			}
		}
	}
}

// inWorkOf returns which of some videos have steps: work on them is not finished.
func inWorkOf(ctx context.Context, q store.Queries, ids []video.ID) (map[video.ID]bool, error) {
	in, arg := store.IDList(1, ids)
	all := make(map[video.ID]bool, len(ids))
	_, err := store.Collect(ctx, q, "find videos in work", func(row *sql.Rows) (id video.ID, err error) {
		err = row.Scan(&id)
		all[id] = true
		return id, err
	}, `SELECT DISTINCT video_id FROM step WHERE video_id IN `+in, arg)
	return all, err
}

// explainMissing finds out why an object that a video needed is not there, and records it.
func (c *copier) explainMissing(ctx context.Context, n need, key string) error {
	v, err := c.source.Store.Video(ctx, n.Video)
	if video.KindOf(err) == video.NotFound || err == nil && !v.DeletedAt.IsZero() {
		if !slices.Contains(c.summary.Deleted, n.Video) {
			c.summary.Deleted = append(c.summary.Deleted, n.Video)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.Contains(required(v), key) {
		c.summary.Removed = append(c.summary.Removed, key)
		return nil
	}
	c.summary.Missing = append(c.summary.Missing, key)
	return c.checkStorage()
}

func decodeNeed(line []byte) (n need, err error) {
	err = json.Unmarshal(line, &n)
	return n, err
}
