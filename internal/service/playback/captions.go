package playback

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/engine/webvtt"
)

// textCacheSize is how much memory the captions may take that are being watched.
const textCacheSize = 32 << 20

type textVersion struct{ key, etag string }

// cachedText is captions. It is not changed.
type cachedText struct {
	cues []webvtt.Cue
	end  time.Duration // of the last one
}

// captionsOf returns captions that are cached, or calls read: a player asks for each of their segments. The
// cache does not know whether a file still exists: the caller has looked.
func (p *Player) captionsOf(ctx context.Context, v textVersion, read func() ([]byte, error)) (*cachedText, error) {
	return costly(ctx, p.captions, v, func() (*cachedText, int64, error) {
		text, err := read()
		if err != nil {
			return nil, 0, err
		}
		return parseText(text)
	})
}

// parseText returns captions, and about how much memory they take.
func parseText(text []byte) (*cachedText, int64, error) {
	cues, err := webvtt.ParseForgiving(text)
	if err != nil {
		return nil, 0, err
	}
	t := &cachedText{cues: cues}
	size := int64(len(text)) // parts of the text may stay referenced
	for _, cue := range cues {
		t.end, size = max(t.end, cue.End), size+96
		for _, line := range cue.Lines {
			size += int64(len(line)) + 32
		}
	}
	return t, size, nil
}
