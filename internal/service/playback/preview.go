package playback

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// Part is a part of a video.
type Part = stream.Part

// ParsePart reads a part of a video, in seconds, as a query has it. Each time may be "".
func ParsePart(start, end string) (Part, []video.Fault) {
	const longest = 1e6 // seconds
	read := func(field, text string) (time.Duration, []video.Fault) {
		if text == "" {
			return 0, nil
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= longest) || strings.ContainsAny(text, "xX") {
			return 0, []video.Fault{{Field: field, Code: "out_of_range", Message: "must be a number of seconds, zero or more"}}
		}
		return time.Duration(math.Round(n*1000)) * time.Millisecond, nil
	}
	from, faults := read("start", start)
	to, more := read("end", end)
	if faults = append(faults, more...); faults == nil && end != "" && to <= from {
		faults = []video.Fault{{Field: "end", Code: "out_of_range", Message: "must be more than start"}}
	}
	return Part{From: from, To: to}, faults
}

// previewMark stands between a signature and the part that it is for.
const previewMark = "~"

// previewOf returns the part that a token is for. It reports false for a token that opens all of a video.
func previewOf(token string) (Part, bool) {
	_, text, found := strings.Cut(token, previewMark)
	part, ok := stream.ParsePart(text)
	if !ok {
		part = Part{} // for which there are no signatures
	}
	return part, found
}

// signPreview returns a token that opens a part of a video. The part is signed, so nothing else can be put in its place.
func signPreview(keys *auth.SigningKeys, id video.ID, part Part, expires time.Time) string {
	return keys.Sign(sign.Preview, previewSubject(id, part), expires) + previewMark + part.String()
}

func previewSubject(id video.ID, part Part) string { return string(id) + "/" + part.String() }

// verifyPreview checks the signature of a token for a part.
func verifyPreview(ctx context.Context, keys *auth.SigningKeys, id video.ID, token string, part Part) error {
	signature, _, _ := strings.Cut(token, previewMark)
	return keys.Verify(ctx, sign.Preview, previewSubject(id, part), signature)
}

// PreviewURLs returns addresses of a private video that expire, of which only the streams play, and only a part.
func PreviewURLs(v video.Video, base Base, keys *auth.SigningKeys, expires time.Time, part Part) URLs {
	token := signPreview(keys, v.ID, part, expires)
	u := urls(v, func(file string) string { return base.Files + "/v/" + token + "/" + string(v.ID) + "/" + file })
	u.Embed = base.Pages + "/embed/" + token + "/" + string(v.ID)
	return u
}

// RefusePreview returns an error if the token of a page is one of a preview, which opens no pages.
func RefusePreview(ctx context.Context, keys *auth.SigningKeys, id video.ID, token string) error {
	part, ok := previewOf(token)
	if !ok {
		return nil
	}
	if err := verifyPreview(ctx, keys, id, token, part); err != nil {
		return err
	}
	return previewOnly()
}

// checkPreview checks a token for a part of a video, and whether it opens a file.
func (p *Player) checkPreview(ctx context.Context, a Access, part Part, file string) error {
	if err := verifyPreview(ctx, p.keys, a.Video, a.Token, part); err != nil {
		return err
	}
	f, ok := stream.Parse(file)
	if !ok || slices.Contains([]stream.Kind{stream.TextFile, stream.ChaptersVTT, stream.ChaptersJSON}, f.Kind) { // they tell of all of it
		return previewOnly()
	}
	return nil
}

func previewOnly() error {
	return &video.Error{Kind: video.Forbidden, Code: "preview_only", Msg: "This address is for a preview: hlsUrl and dashUrl play a part of the video, and nothing else."}
}

// findPartPlaylist finds the playlist of a track that shows a part.
func (p *Player) findPartPlaylist(ctx context.Context, at place, f stream.File) (*document, error) {
	s, err := p.sources(ctx, at)
	if err != nil {
		return nil, err
	}
	d := p.document(newDocumentID(f, at.prefix(), s.version(), at.part), time.Time{}, func(ctx context.Context) (func() ([]byte, error), error) {
		present, err := p.readSources(ctx, at, s)
		return func() ([]byte, error) {
			show := present()
			of, err := partOf(show, at)
			if err != nil {
				return nil, err
			}
			t, ok := of.Track(f.Track)
			if !ok {
				return nil, noSuchFile()
			}
			return playlistOf(at, f, t, show.Target(), stream.Fixed), nil
		}, err
	})
	d.grows = s.growing != nil
	return d, nil
}

// checkPart returns an error unless a segment is in the playlists of the part that an address is bound to.
func (p *Player) checkPart(ctx context.Context, at place, f stream.File, track *mp4.Segments) error {
	if g := track.List()[f.Number]; !at.bound || at.part.Shows(g.Start, g.End, track.Timescale) {
		return nil
	}
	if !stream.IsAudio(f.Track) { // of which a segment before the part may be listed
		return previewOnly()
	}
	s, err := p.sources(ctx, at)
	if err != nil {
		return err
	}
	present, err := p.readSources(ctx, at, s)
	if err != nil {
		return err
	}
	of, err := partOf(present(), at)
	if err != nil {
		return err
	}
	if t, ok := of.Track(f.Track); !ok || f.Number < t.First || f.Number >= t.First+len(t.Segments) {
		return previewOnly()
	}
	return nil
}

// partOf returns the part of a video that a request asks for.
func partOf(show stream.Presentation, at place) (stream.Presentation, error) {
	of, whole := show.Of(at.part)
	switch {
	case at.part.All():
		return of, nil
	case !whole:
		return of, notReady()
	case len(of.Video) == 0:
		return of, noSuchFile()
	}
	if !at.bound { // a signature is in the path already
		of.Query = at.part.Query()
	}
	return of, nil
}
