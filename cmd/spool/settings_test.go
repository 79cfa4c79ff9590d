package main

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/settings"
)

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]sources{
		"a list in the file":        {file: `trusted_proxies = ["10.1.2.3/8", "::1"]`},
		"commas in the environment": {env: map[string]string{"SPOOL_TRUSTED_PROXIES": "10.1.2.3/8,::1"}},
		"spaces around them":        {env: map[string]string{"SPOOL_TRUSTED_PROXIES": " 10.1.2.3/8, ::1\n"}},
		"flags":                     {args: []string{"--trusted-proxies=10.1.2.3/8", "--trusted-proxies=::1"}},
	} {
		c, err := from.parse(t)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := settings.Prefixes(c.TrustedProxies)
		if len(got) != 2 || got[0] != netip.MustParsePrefix("10.0.0.0/8") || got[1] != netip.MustParsePrefix("::1/128") {
			t.Errorf("%s: proxies %v, want 10.0.0.0/8 and ::1/128", name, got)
		}
	}
}

func TestASettingThatCannotBeReadIsExplained(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SPOOL_RATE_LIMIT":       "it must be a number, or auto.",
		"SPOOL_WORKERS":          "it must be a whole number.",
		"SPOOL_GRACE":            "it must be a duration such as 90s or 1h30m.",
		"SPOOL_MAX_UPLOAD_BYTES": "it must be a size such as 5GiB, 500MB or a number of bytes.",
		"SPOOL_KEEP_SOURCE":      "it must be true or false.",
		"SPOOL_LOG_LEVEL":        "it must be debug, info, warn or error.",
		"SPOOL_TRUSTED_PROXIES":  "it must be a list of networks such as 10.0.0.0/8.",
	} {
		_, err := sources{env: map[string]string{name: "abc"}}.parse(t)
		if want := name + ` is "abc": ` + want; err == nil || err.Error() != want {
			t.Errorf("%s=abc gives %v, want %s", name, err, want)
		}
	}
}

// Files of variables and secrets end lines as they like.
func TestSpacesAroundASettingDoNotCount(t *testing.T) {
	t.Parallel()
	c, err := sources{
		env:  map[string]string{"SPOOL_WORKERS": " 3 ", "SPOOL_GRACE": "9s\r", "SPOOL_API_KEY": "0123456789abcdef\n", "SPOOL_CODECS": "h264, av1", "SPOOL_QUALITY": "  "},
		file: "quality = \" fast \"\r\nbase_url = \" https://video.example.com \"\r\n",
	}.parse(t)
	if err != nil {
		t.Fatal(err)
	}
	if c.Workers != 3 || c.Grace != 9*time.Second || c.APIKey != "0123456789abcdef" || !slices.Equal(c.Codecs, []string{"h264", "av1"}) || c.Quality != "fast" || c.BaseURL != "https://video.example.com" {
		t.Errorf("the settings are %+v", c)
	}
}

// A value that is wrong may be anywhere: whoever reads the sentence must not have to search for it.
func TestAFaultSaysWhereItsSettingIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		from sources
		want string
	}{
		{"a flag", sources{args: []string{"--max-resolution=999p"}}, `max_resolution is "999p": it must be 144p, 240p, 360p, 480p, 720p, 1080p, 1440p, 4k or 8k. It is set by --max-resolution.`},
		{"a default resolution", sources{file: "default_resolutions = ['720p', '99p']\n"}, `default_resolutions is "99p": it must be 144p, 240p,`},
		{"a variable", sources{env: map[string]string{"SPOOL_GRACE": "5h"}}, "grace is 5h0m0s: it must be from 1s to 1h0m0s. It is set by SPOOL_GRACE."},
		{"a line of the file", sources{file: "# ours\nworkers = 2\n  quality = 'best'\n"}, "It is set in FILE, line 3."},
		{"a line that cannot be read", sources{file: "workers = 'many'\n"}, `FILE, line 1: workers is "many": it must be a whole number.`},
		{"a key that does not exist", sources{file: "\n\nworker = 2\n"}, `FILE, line 3: there is no setting "worker"; did you mean "workers"?`},
		{"a flag wins over the file", sources{args: []string{"--role=boss"}, file: "role = 'x'\n"}, "It is set by --role."},
		{"a default is set by nobody", sources{args: []string{"--grace=2s", "--drain=10s"}}, "drain is 10s: it must be from 0s to 1s. It is set by --drain."},
	} {
		_, err := tt.from.parse(t)
		if err == nil {
			t.Errorf("%s: accepted", tt.name)
			continue
		}
		text := regexp.MustCompile(`\S+/spool\.toml`).ReplaceAllString(err.Error(), "FILE")
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: %q; want %q", tt.name, text, tt.want)
		}
	}
}
