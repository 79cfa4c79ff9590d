package clientcmd

import (
	"testing"

	"github.com/spool-video/spool/client"
)

func TestPartsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]client.Trim{
		"12.5-1:30": {Start: 12.5, End: 90}, "90-": {Start: 90}, "-30": {End: 30}, "1:00:00-1:00:05.25": {Start: 3600, End: 3605.25},
	} {
		if got, err := parseTrim(text); err != nil || *got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"12", "5-3", "a-b", "1:75-2:00", "-", "1--2", "1e3-", "1:2:3:4-", ":-5", "+1-"} {
		if got, err := parseTrim(text); err == nil {
			t.Errorf("%q is %v", text, *got)
		}
	}
}
