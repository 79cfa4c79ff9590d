package audience

import (
	"context"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Common Media Client Data, CTA-5004: what players tell of themselves in their requests for media (version 1), and in reports
// of their own (version 2, event mode).

// CMCD is one set of keys with their values. Texts are without their quotes, and of a list it has the last entry.
type CMCD map[string]string

const (
	// maxCMCD is how long a set may be, and maxCMCDKeys how many keys it may have.
	maxCMCD     = 4 << 10
	maxCMCDKeys = 64
	// MaxEvents is how many reports may come at once.
	MaxEvents = 100
	// maxSession is how long the name of a session may be.
	maxSession = 64
)

// ParseCMCD reads a set of keys, such as `bl=21300,sid="6e2fb550",su`. It reports false for what is none.
func ParseCMCD(text string) (CMCD, bool) {
	if len(text) > maxCMCD {
		return nil, false
	}
	all := CMCD{}
	for text != "" {
		var pair string
		pair, text = cutPair(text)
		key, value, given := strings.Cut(strings.TrimSpace(pair), "=")
		if key == "" {
			continue
		}
		if !given {
			value = "true"
		}
		if all[key] = plain(value); len(all) > maxCMCDKeys {
			return nil, false
		}
	}
	return all, len(all) > 0
}

// cutPair returns what stands before the first comma that is in neither quotes nor parentheses, and what follows it.
func cutPair(text string) (pair, rest string) {
	quoted, depth := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// plain returns a value without quotes, parentheses and parameters; of a list the last one.
func plain(value string) string {
	value = strings.TrimSpace(value)
	if list, ok := strings.CutPrefix(value, "("); ok {
		list, _, _ = strings.Cut(list, ")")
		fields := strings.Fields(list)
		if len(fields) == 0 {
			return ""
		}
		value = fields[len(fields)-1]
	}
	if text, ok := strings.CutPrefix(value, `"`); ok {
		text, _, _ = strings.Cut(text, `"`)
		return text
	}
	value, _, _ = strings.Cut(value, ";")
	return value
}

// milliseconds returns the value of a key as a time; 0 where it is none.
func (c CMCD) milliseconds(key string) time.Duration {
	n, err := strconv.ParseFloat(c[key], 64)
	if err != nil || !(n > 0 && n < 1e9) {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

func (c CMCD) session() (name string, ok bool) {
	name = c["sid"]
	return name, name != "" && len(name) <= maxSession
}

// Request counts what a request for a file tells; its address was checked. A player loads a segment about when it watches
// another, so the length of the segment counts as watched.
func (s *Service) Request(id video.ID, who Visitor, c CMCD, file string) {
	name, ok := c.session()
	if !s.config.On || !ok || c["cid"] != "" && !strings.EqualFold(c["cid"], string(id)) {
		return
	}
	r, quality := Report{Referrer: who.Referrer}, qualityOf(file)
	if kind := c["ot"]; quality != "" && (kind == "" || kind == "v" || kind == "av") {
		r.Watched = []Watched{{Quality: quality, Time: c.milliseconds("d"), First: true}}
	}
	if c["bs"] == "true" {
		r.Stalls = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	in, _ := s.session(id, "cmcd "+name, now)
	s.countCMCD(id, who, in, name, r, now)
}

// countCMCD counts what a player told by CMCD. It does not say when a view begins.
func (s *Service) countCMCD(id video.ID, who Visitor, in *session, name string, r Report, now time.Time) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	begins := !in.view && in.watched+r.watched() >= firstSecond
	s.count(play{video: id, who: who, at: now, session: in, crowd: s.crowd(id, who.Network, now), report: r,
		begins: begins, once: h.Sum64() | 2, follows: in.cmcd.follows})
}

// timeline is what the reports of a session by CMCD 2 have told.
type timeline struct {
	at       int64 // milliseconds since 1970, by the clock of the player
	playing  bool
	stalling bool
	follows  bool          // it tells where in the film it is
	place    time.Duration // in the film
}

// longestGap is how much time between two reports counts: after more, it is not known what was in between.
const longestGap = 2 * time.Minute

// Events counts reports by CMCD 2. It passes over what makes no sense, and videos that the sender may not watch.
func (s *Service) Events(ctx context.Context, token string, who Visitor, all []CMCD) error {
	if !s.config.On {
		return nil
	}
	for _, c := range all {
		id, err := video.ParseID("cid", c["cid"])
		name, ok := c.session()
		if err != nil || !ok {
			continue
		}
		k, err := s.open(ctx, id, token)
		if kind := video.KindOf(err); kind == video.NotFound || kind == video.Forbidden {
			continue
		} else if err != nil {
			return err
		}
		s.countEvent(id, name, k, who, c)
	}
	return nil
}

func (s *Service) countEvent(id video.ID, name string, k known, who Visitor, c CMCD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	in, _ := s.session(id, "cmcd "+name, now)
	r := in.cmcd.follow(c, k.duration)
	r.Referrer = who.Referrer
	s.countCMCD(id, who, in, name, r, now)
}

// follow returns what a report adds to those before it, of a film of this length.
func (t *timeline) follow(c CMCD, length time.Duration) Report {
	r := Report{Startup: c.milliseconds("msd"), Failed: c["sta"] == "f" || c["e"] == "e", Completed: c["sta"] == "e"}
	at, err := strconv.ParseInt(c["ts"], 10, 64)
	if err != nil || at <= t.at { // late, or without a time
		return r
	}
	passed := time.Duration(min(at-t.at, longestGap.Milliseconds())) * time.Millisecond
	if t.at == 0 {
		passed = 0
	}
	if t.playing {
		r.Watched = []Watched{{Time: passed}}
	}
	if t.stalling {
		r.Stalled = passed
	}
	if _, tells := c["pt"]; tells && length > 0 {
		place := c.milliseconds("pt")
		r.Parts = t.between(place, passed, length)
		r.Completed = r.Completed || place >= length*95/100
		t.follows, t.place = true, place
	}
	t.at = at
	if state, told := c["sta"]; told {
		stalls := state == "r"
		if stalls && t.playing {
			r.Stalls = 1
		}
		t.playing, t.stalling = state == "p", stalls
	}
	return r
}

// between returns the parts of a film that were played on the way to a place, unless somebody jumped there.
func (t *timeline) between(place, passed, length time.Duration) []int {
	part := func(at time.Duration) int { return int(min(at*FilmParts/length, FilmParts-1)) }
	from := t.place
	if !t.playing || place < from || place-from > 2*passed+time.Second {
		from = place
	}
	all := []int{}
	for n := part(from); n <= part(place); n++ {
		all = append(all, n)
	}
	return all
}

// resolutionIn finds the name of a resolution in the name of a file, such as av1-720p-12.m4s.
var resolutionIn = regexp.MustCompile(`(?:^|[.-])([0-9]+[pk])(?:-[0-9]+\.m4s|\.mp4)$`)

// qualityOf returns the resolution of a segment, or of a whole file; "": it is none of pictures.
func qualityOf(file string) video.Name {
	m := resolutionIn.FindStringSubmatch(file)
	if m == nil || !video.Name(m[1]).Valid() {
		return ""
	}
	return video.Name(m[1])
}
