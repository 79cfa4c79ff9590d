package clientcmd

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spool-video/spool/client"
)

// board shows what several files are doing: on a terminal as bars that move, elsewhere as a line for
// each step.
type board struct {
	out  io.Writer
	size func() (columns, rows int)
	live bool
	mute bool // no lines for steps: standard output has them

	mu    sync.Mutex
	rows  []*row
	drawn int // lines on the terminal that the next drawing replaces
	text  string
	stop  chan struct{}
	ended sync.WaitGroup
}

// row is one file on the board.
type row struct {
	board *board
	name  string

	phase   string
	part    float64 // 0 to 1
	sent    int64
	total   int64
	from    int64 // where this phase began
	began   time.Time
	resumed bool
	fetched bool // the server fetches the file
	ahead   *int // how many videos come first, while this one waits

	printed   float64 // the part in the last line, where there are lines instead of a bar
	printedAt time.Time
}

// drawPause is the time between two drawings.
const drawPause = 100 * time.Millisecond

// A line is printed at each quarter, and for other progress after linePause.
const (
	lineParts = 4
	linePause = 10 * time.Second
)

func newBoard(env *Environment) *board {
	b := &board{out: env.Stderr, size: env.Size, stop: make(chan struct{})}
	if columns, _ := env.Size(); columns > 0 {
		b.live = true
		b.ended.Go(b.run)
	}
	return b
}

func (b *board) run() {
	tick := time.NewTicker(drawPause)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
			b.mu.Lock()
			b.draw()
			b.mu.Unlock()
		}
	}
}

// close removes the bars.
func (b *board) close() {
	close(b.stop)
	b.ended.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
}

// add puts a file on the board.
func (b *board) add(name string) *row {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &row{board: b, name: forTerminal(name)}
	b.rows = append(b.rows, r)
	return r
}

// printLine prints a line that stays.
func (r *row) printLine(format string, args ...any) {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	r.board.printLine(r.name + ": " + fmt.Sprintf(format, args...))
}

func (b *board) printLine(line string) {
	b.erase()
	fmt.Fprintln(b.out, line)
}

// uploading records how much of the file was sent. The first call of a continued upload has what the
// server had already.
func (r *row) uploading(sent, total int64) { r.moving("uploading", sent, total) }

// moving records how much of a file was sent, or has arrived.
func (r *row) moving(phase string, sent, total int64) {
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	begins := r.phase != phase
	if begins {
		r.phase, r.began, r.from = phase, time.Now(), sent
		if !r.resumed {
			r.from = 0
		}
	}
	r.sent, r.total, r.part = sent, total, fraction(sent, total)
	if begins {
		r.start(sent, total)
	}
	if sent < total {
		r.printProgress()
	}
}

// printProgress prints a line at a quarter, or for some progress in a while.
func (r *row) printProgress() {
	if r.board.live || r.board.mute || percent(r.part) == percent(r.printed) {
		return
	}
	if int(r.part*lineParts) == int(r.printed*lineParts) && time.Since(r.printedAt) < linePause {
		return
	}
	r.printed, r.printedAt = r.part, time.Now()
	r.board.printLine(fmt.Sprintf("%s: %s %s", r.name, r.phase, percent(r.part)))
}

// start shows that the upload begins.
func (r *row) start(sent, total int64) {
	r.printed, r.printedAt = r.part, r.began
	switch {
	case r.board.live:
		r.board.draw()
	case r.resumed && sent > 0:
		r.board.printLine(fmt.Sprintf("%s: resuming at %s of %s", r.name, percent(fraction(sent, total)), formatBytes(total)))
	default:
		r.board.printLine(fmt.Sprintf("%s: %s %s", r.name, r.phase, formatBytes(total)))
	}
}

func fraction(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// follow records how far the server has come with a video.
func (r *row) follow(v client.Video) {
	phase, part := "encoding", v.Progress
	if v.Status == client.Processing && v.Progress == 0 {
		phase = "waiting"
	}
	if v.Status == client.PendingUpload && (r.fetched || v.ImportProgress > 0) {
		phase, part = "fetching", v.ImportProgress
	}
	r.board.mu.Lock()
	defer r.board.mu.Unlock()
	if r.phase != phase {
		r.phase, r.began, r.part = phase, time.Now(), part
		r.printed, r.printedAt = 0, r.began
		switch {
		case r.board.live:
			r.board.draw()
		case !r.board.mute && !v.Status.Done():
			r.board.printLine(r.name + ": " + phase)
		}
	}
	r.part, r.ahead = part, v.VideosAhead
	if !v.Status.Done() {
		r.printProgress()
	}
}

// finish takes the file off the board.
func (r *row) finish() {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = slices.DeleteFunc(b.rows, func(other *row) bool { return other == r })
	b.erase()
}

// erase removes the bars from the terminal.
func (b *board) erase() {
	if b.drawn > 0 {
		fmt.Fprint(b.out, b.eraseSequence())
		b.drawn = 0
	}
}

// eraseSequence returns what makes the terminal erase the bars; "" if there are none.
func (b *board) eraseSequence() string {
	if b.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", b.drawn)
}

// draw shows the bars. A terminal that is too small shows the first ones.
func (b *board) draw() {
	columns, lines := b.size()
	if columns <= 0 {
		return
	}
	var text strings.Builder
	n := 0
	for _, r := range b.rows {
		if r.phase == "" {
			continue
		}
		if n >= max(1, lines-2) {
			break
		}
		n++
		text.WriteString(r.line(columns-1) + "\n") // a full line would wrap
	}
	if b.drawn == n && b.text == text.String() {
		return
	}
	_, _ = io.WriteString(b.out, b.eraseSequence()+text.String()) // at once, so that nothing flickers
	b.drawn, b.text = n, text.String()
}

// line shows one file in at most so many columns.
func (r *row) line(columns int) string {
	facts := fmt.Sprintf(" %4s", percent(r.part))
	if r.phase == "uploading" || r.phase == "downloading" {
		facts += r.speed()
	}
	if r.phase == "waiting" && r.ahead != nil && *r.ahead > 0 {
		facts += fmt.Sprintf("  %d before it", *r.ahead)
	}
	name := r.name
	if most := max(8, columns/3); utf8.RuneCountInString(name) > most {
		name = truncate(filepath.Base(name), most) // the folders say less than the name
	}
	head := fmt.Sprintf("%s  %-9s ", name, r.phase)
	space := columns - utf8.RuneCountInString(head) - utf8.RuneCountInString(facts) - 2
	if space < 5 {
		return truncate(head+strings.TrimSpace(facts), columns)
	}
	space = min(space, 40)
	full := int(float64(space) * min(1, r.part))
	return head + "[" + strings.Repeat("#", full) + strings.Repeat("-", space-full) + "]" + facts
}

// speed says how fast the file is sent and how long that will take.
func (r *row) speed() string {
	took := time.Since(r.began).Seconds()
	if took < 1 || r.sent <= r.from {
		return "  " + formatBytes(r.total)
	}
	rate := float64(r.sent-r.from) / took
	left := time.Duration(float64(r.total-r.sent) / rate * float64(time.Second))
	return fmt.Sprintf("  %s/s  %s left", formatBytes(int64(rate)), formatDuration(left))
}
