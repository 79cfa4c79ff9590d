// Package words finds videos by what is said in them.
//
// What is said is what their captions say, whatever these come from. Each file of captions is cut into blocks of neighbouring
// cues, which are rows with their words: without case and accents, in languages without spaces each pair of characters. The
// database finds the blocks that have all words of a query; this package then looks at their cues, so that both databases find
// the same. Blocks are written in the transaction that lists the file, so a search knows what players know. Files from before
// there was a search are indexed in the background.
package words

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// The number of a block is made of these bits: 41 of the time at which its video was created, 3 that tell videos of the same
// millisecond apart, 7 for the file and 12 for the block. So the order of the numbers is the order of the list.
const (
	sameTimeBits = 3
	fileBits     = 7
	blockBits    = 12

	videoShift = fileBits + blockBits
	maxFiles   = 1 << fileBits
	maxBlocks  = 1 << blockBits
	maxTime    = 1<<41 - 1
)

// epoch is the first time that a number can begin with.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Add indexes a file with captions of a video, which must be locked. Text is the WebVTT.
func Add(ctx context.Context, tx *store.Tx, v video.Video, f video.File, text []byte) error {
	all, err := blocksOf(v.Tenant, f.Language, text)
	if err != nil {
		return err
	}
	if err := Remove(ctx, tx, v.ID, f.Name); err != nil {
		return err
	}
	return insert(ctx, tx, v, f.Name, all)
}

// Remove takes a file of a video out of the index. It is no error if it is not there.
func Remove(ctx context.Context, tx *store.Tx, id video.ID, file string) error {
	_, err := tx.Exec(ctx, "remove words", `DELETE FROM said_block WHERE video_id = $1 AND file = $2`, id, file)
	return err
}

// Carry gives a video, which has got the file of a hidden one, what was indexed of the captions of that. v lists the captions
// that it has now. Both must be locked.
func Carry(ctx context.Context, tx *store.Tx, v video.Video, hidden video.ID) error {
	indexed, err := indexedFiles(ctx, tx.Queries, []video.ID{v.ID})
	if err != nil {
		return err
	}
	for file := range indexed[v.ID] {
		if _, listed := v.File(file); !listed {
			if err := Remove(ctx, tx, v.ID, file); err != nil {
				return err
			}
		}
	}
	for _, f := range v.Captions() {
		if indexed[v.ID][f.Name] {
			continue
		}
		all, err := store.Collect(ctx, tx.Queries, "read words", func(row *sql.Rows) (b block, err error) {
			return b, row.Scan(&b.language, &b.words, &b.cues)
		}, `SELECT language, words, cues FROM said_block WHERE video_id = $1 AND file = $2 ORDER BY id`, hidden, f.Name)
		if err != nil {
			return err
		}
		if err := insert(ctx, tx, v, f.Name, all); err != nil {
			return err
		}
	}
	return nil
}

// insert stores the blocks of a file.
func insert(ctx context.Context, tx *store.Tx, v video.Video, file string, all []block) error {
	if len(all) == 0 {
		return nil
	}
	number, err := numberOf(ctx, tx, v)
	if err != nil {
		return err
	}
	place, err := freePlace(ctx, tx, v.ID)
	if err != nil {
		return err
	}
	first := number<<videoShift | place<<blockBits
	for i, b := range all[:min(len(all), maxBlocks)] {
		if _, err := tx.Exec(ctx, "index captions", `INSERT INTO said_block (id, video_id, file, language, words, cues) VALUES ($1, $2, $3, $4, $5, $6)`,
			first|int64(i), v.ID, file, b.language, b.words, b.cues); err != nil {
			return err
		}
	}
	return nil
}

// numberOf returns the number of a video. If it has none, it gets the first free one from the time of its creation on.
func numberOf(ctx context.Context, tx *store.Tx, v video.Video) (int64, error) {
	var number int64
	err := tx.QueryRow(ctx, `SELECT number FROM said_video WHERE video_id = $1`, v.ID).Scan(&number)
	if !errors.Is(err, sql.ErrNoRows) {
		return number, store.Wrap("read the number of a video", err)
	}
	for number = firstNumber(v.CreatedAt); ; {
		n, err := tx.Exec(ctx, "number a video", `INSERT INTO said_video (video_id, number) VALUES ($1, $2) ON CONFLICT (number) DO NOTHING`, v.ID, number)
		if err != nil || n > 0 {
			return number, err
		}
		// Where many were created in one moment, the next free number is after all of these.
		err = tx.QueryRow(ctx, `
			SELECT min(s.number) + 1 FROM said_video AS s
			 WHERE s.number >= $1 AND NOT EXISTS (SELECT 1 FROM said_video AS o WHERE o.number = s.number + 1)`, number).Scan(&number)
		if err != nil {
			return 0, store.Wrap("number a video", err)
		}
	}
}

// firstNumber is the first number of videos that were created at a time.
func firstNumber(created time.Time) int64 {
	return min(max(created.Sub(epoch).Milliseconds(), 0), maxTime) << sameTimeBits
}

// freePlace returns a number that no file of a video has.
func freePlace(ctx context.Context, tx *store.Tx, id video.ID) (int64, error) {
	used, err := store.Collect(ctx, tx.Queries, "read words", func(row *sql.Rows) (n int64, err error) {
		return n, row.Scan(&n)
	}, fmt.Sprintf(`SELECT DISTINCT (id >> %d) & %d FROM said_block WHERE video_id = $1`, blockBits, maxFiles-1), id)
	if err != nil {
		return 0, err
	}
	for n := range int64(maxFiles) {
		if !slices.Contains(used, n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("index captions: video %s has too many files", id)
}

// indexedFiles returns which files of some videos are indexed.
func indexedFiles(ctx context.Context, q store.Queries, ids []video.ID) (map[video.ID]map[string]bool, error) {
	in, arg := store.IDList(1, ids)
	all := map[video.ID]map[string]bool{}
	err := store.Each(ctx, q, "read words", func(row *sql.Rows) (bool, error) {
		var id video.ID
		var file string
		err := row.Scan(&id, &file)
		if all[id] == nil {
			all[id] = map[string]bool{}
		}
		all[id][file] = true
		return true, err
	}, `SELECT DISTINCT video_id, file FROM said_block WHERE video_id IN `+in, arg)
	return all, err
}
