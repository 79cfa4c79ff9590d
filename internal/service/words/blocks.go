package words

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/webvtt"
	"github.com/spool-video/spool/internal/video"
)

const (
	// blockCues is how many cues a block has, and blockText how many bytes of text end it earlier.
	blockCues = 20
	blockText = 8 << 10
	// overlap is how many cues two neighbouring blocks have both, so that each place is whole in one of them.
	overlap = reach - 1
)

// cue is a cue as it is stored: when it is shown, in milliseconds, and its text.
type cue struct {
	Start, End int64
	Text       string
}

func (c cue) start() time.Duration { return time.Duration(c.Start) * time.Millisecond }
func (c cue) end() time.Duration   { return time.Duration(c.End) * time.Millisecond }

// MarshalJSON writes a cue as a list, which is short.
func (c cue) MarshalJSON() ([]byte, error) { return json.Marshal([]any{c.Start, c.End, c.Text}) }

// UnmarshalJSON reads such a list.
func (c *cue) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&c.Start, &c.End, &c.Text})
}

// block is some neighbouring cues, and the words by which they are found.
type block struct {
	language string
	words    string
	cues     string
}

// ownWord is the word that all blocks of a tenant have. It begins with a character that no other word has.
func ownWord(tenant video.Tenant) string {
	sum := sha256.Sum256([]byte(tenant))
	return "\ue000" + hex.EncodeToString(sum[:6])
}

// blocksOf returns the blocks of a WebVTT file. There is at least one, which says that the file was read. What cannot be
// read has no cues: captions of any kind are worth more than a search in them.
func blocksOf(tenant video.Tenant, language string, text []byte) ([]block, error) {
	parsed, _ := webvtt.ParseForgiving(text)
	var cues []cue
	for _, c := range parsed {
		if plain := strings.Join(strings.Fields(c.Plain()), " "); plain != "" {
			cues = append(cues, cue{c.Start.Milliseconds(), c.End.Milliseconds(), plain})
		}
	}
	var all []block
	for {
		n := blockLength(cues)
		b, err := newBlock(tenant, language, cues[:n])
		if err != nil {
			return nil, err
		}
		if all = append(all, b); n == len(cues) {
			return all, nil
		}
		cues = cues[n-overlap:]
	}
}

// blockLength returns how many of the cues make a block.
func blockLength(cues []cue) int {
	size := 0
	for n, c := range cues {
		if size += len(c.Text); n == blockCues || n > overlap && size > blockText {
			return n
		}
	}
	return len(cues)
}

func newBlock(tenant video.Tenant, language string, cues []cue) (block, error) {
	all := []string{ownWord(tenant)}
	for _, c := range cues {
		for _, t := range tokens(c.Text) {
			all = append(all, t.stored()...)
		}
	}
	slices.Sort(all)
	if cues == nil {
		cues = []cue{}
	}
	text, err := json.Marshal(cues)
	if err != nil {
		return block{}, fmt.Errorf("index captions: %w", err)
	}
	return block{language: language, words: strings.Join(slices.Compact(all), " "), cues: string(text)}, nil
}
