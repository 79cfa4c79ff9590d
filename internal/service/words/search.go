package words

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxMatches is how many places of a video are told.
	MaxMatches = 5
	// maxRead is how many blocks of one video are looked at for them.
	maxRead = 200
	// batch is how many blocks are asked for at a time.
	batch = 1000
)

// Search is a search in what is said in the videos of a tenant, on one moment of the database.
type Search struct {
	queries  store.Queries
	postgres bool
	tenant   video.Tenant
	query    Query
}

// NewSearch returns a search.
func NewSearch(q store.Queries, postgres bool, tenant video.Tenant, query Query) Search {
	return Search{queries: q, postgres: postgres, tenant: tenant, query: query}
}

// Place is a video in the order of a search.
type Place struct {
	Number int64
	Video  video.ID
}

// Next returns at most n videos that have a block with all words, after a number (nil: from the beginning on), the newest
// first or the oldest. Some of them may not have the words in neighbouring cues: see Matches.
func (s Search) Next(ctx context.Context, after *int64, ascending bool, n int) ([]Place, error) {
	var numbers []int64
	from, until := int64(0), int64(math.MaxInt64)
	move := func(number int64) {
		if ascending {
			from = (number + 1) << videoShift
		} else {
			until = number << videoShift
		}
	}
	if after != nil {
		move(*after)
	}
	for more := true; more && len(numbers) < n; {
		read := 0
		err := s.blocks(ctx, from, until, ascending, func(id int64) bool {
			read++
			if number := id >> videoShift; len(numbers) == 0 || numbers[len(numbers)-1] != number {
				numbers = append(numbers, number)
				move(number)
			}
			return len(numbers) < n
		})
		if err != nil {
			return nil, err
		}
		more = read == batch
	}
	return s.places(ctx, numbers)
}

// blocks calls read with the numbers of the blocks within a range that have all words, in their order, as long as it wants
// more, and at most batch times.
func (s Search) blocks(ctx context.Context, from, until int64, ascending bool, read func(id int64) bool) error {
	text, arg := s.statement()
	order := ` DESC`
	if ascending {
		order = ``
	}
	text += ` ORDER BY 1` + order + ` LIMIT ` + strconv.Itoa(batch)
	return store.Each(ctx, s.queries, "search words", func(row *sql.Rows) (bool, error) {
		var id int64
		err := row.Scan(&id)
		return err == nil && read(id), err
	}, text, arg, from, until)
}

// statement returns a statement that selects the numbers of the blocks that have all words, from the second argument up to
// the third, and the first argument. The expression for PostgreSQL is the one of its index.
func (s Search) statement() (text, arg string) {
	all := s.query.wanted(s.tenant)
	if s.postgres {
		return `SELECT id FROM said_block WHERE array_to_tsvector(string_to_array(words, ' ')) @@ CAST($1 AS tsquery) AND id >= $2 AND id < $3`,
			`'` + strings.Join(all, `' & '`) + `'`
	}
	return `SELECT rowid FROM said_index WHERE said_index MATCH $1 AND rowid >= $2 AND rowid < $3`, `"` + strings.Join(all, `" "`) + `"`
}

// places returns the videos that have some numbers, in the order of the numbers.
func (s Search) places(ctx context.Context, numbers []int64) ([]Place, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	keys := make(map[int64]int, len(numbers)) // keys of a JSON object; see store.IDList
	for i, n := range numbers {
		keys[n] = i
	}
	arg, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("search words: %w", err)
	}
	all, err := store.Collect(ctx, s.queries, "search words", func(row *sql.Rows) (p Place, err error) {
		return p, row.Scan(&p.Number, &p.Video)
	}, `SELECT number, video_id FROM said_video WHERE number IN (SELECT CAST(key AS BIGINT) FROM json_each($1))`, string(arg))
	slices.SortFunc(all, func(a, b Place) int { return cmp.Compare(keys[a.Number], keys[b.Number]) })
	return all, err
}

// Matches returns where in a video the words are said in neighbouring cues, in the order of time within each language. There
// may be no such place.
func (s Search) Matches(ctx context.Context, number int64) ([]Match, error) {
	text, arg := s.statement()
	var all []Match
	err := store.Each(ctx, s.queries, "read what is said", func(row *sql.Rows) (bool, error) {
		var b block
		if err := row.Scan(&b.language, &b.cues); err != nil {
			return false, err
		}
		found, err := s.query.inBlock(b)
		for _, m := range found {
			if !slices.Contains(all, m) { // two blocks have some cues both
				all = append(all, m)
			}
		}
		return len(all) < MaxMatches, err
	}, `SELECT language, cues FROM said_block WHERE id IN (`+text+`) ORDER BY id LIMIT `+strconv.Itoa(maxRead), arg, number<<videoShift, (number+1)<<videoShift)
	return all[:min(len(all), MaxMatches)], err
}
