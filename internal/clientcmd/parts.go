package clientcmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spool-video/spool/client"
)

// parseTrim reads START-END, of which each may be left out; nil: all of a file.
func parseTrim(text string) (*client.Trim, error) {
	if text == "" {
		return nil, nil
	}
	start, end, found := strings.Cut(text, "-")
	var t client.Trim
	var err error
	if found && start != "" {
		t.Start, err = parseTime(start)
	}
	if found && end != "" && err == nil {
		t.End, err = parseTime(end)
	}
	if !found || err != nil || t == (client.Trim{}) || end != "" && t.End <= t.Start {
		return nil, &UsageError{Text: fmt.Sprintf("--trim: %q is not START-END, such as 12.5-1:30, 90- or -30", text)}
	}
	return &t, nil
}

// parseTime reads seconds, or hours, minutes and seconds with colons between them.
func parseTime(text string) (seconds float64, err error) {
	parts := strings.Split(text, ":")
	for i, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || len(parts) > 3 || strings.Trim(part, "0123456789.") != "" || i > 0 && n >= 60 {
			return 0, fmt.Errorf("%q is no time such as 12.5 or 1:02:03", text)
		}
		seconds = seconds*60 + n
	}
	return seconds, nil
}
