package clientcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// obeyed reports whether a terminal would do something other than to show r: control characters, and
// those that change the direction of the text around them.
func obeyed(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// forTerminal returns foreign text for a terminal, in one line.
func forTerminal(s string) string {
	return strings.Map(func(r rune) rune {
		if obeyed(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// printJSON prints one object in one line. encoding/json writes some characters as they are that a
// terminal obeys; escaped they mean the same.
func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, r := range string(text) {
		if obeyed(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	_, err = fmt.Fprintln(w, out.String())
	return err
}

func printTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// formatBytes writes a number of bytes as people read it.
func formatBytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// formatDuration writes a duration as a player does: 1:02:03.
func formatDuration(d time.Duration) string {
	s := int64(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// seconds is formatDuration for a length that may be unknown.
func seconds(s float64) string {
	if s == 0 {
		return "-"
	}
	return formatDuration(time.Duration(s * float64(time.Second)))
}

func percent(fraction float64) string { return strconv.Itoa(int(100*fraction)) + " %" }

// truncate shortens text to so many columns.
func truncate(s string, columns int) string {
	if utf8.RuneCountInString(s) <= columns {
		return s
	}
	if columns < 2 {
		return ""
	}
	r := []rune(s)
	head := (columns - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(columns-1-head):])
}
