package playback

import (
	"mime"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// Go's own parser reads the names back, also hostile ones.
func TestAttachment(t *testing.T) {
	t.Parallel()
	tests := []struct{ filename, want string }{
		{"holiday.mov", "holiday.mp4"},
		{"Überraschung im Café (2).mkv", "Überraschung im Café (2).mp4"},
		{"映画 🎬.webm", "映画 🎬.mp4"},
		{"100% a;b=c,d+e'f*g.mp4", "100% a;b=c,d+e'f_g.mp4"},
		{"x.mp4\r\nSet-Cookie: a=b", "x.mp4__Set-Cookie_ a=b.mp4"},
		{`a"; filename="evil.exe`, `a_; filename=_evil.mp4`},
		{`..\..\windows\system.ini`, "_.._windows_system.mp4"},
		{"../../etc/passwd", "_.._etc_passwd.mp4"},
		{"gpj.\u202efdp.exe", "gpj._fdp.mp4"},
		{".mp4", "mp4.mp4"},
		{"...", "video.mp4"},
		{strings.Repeat("🎬", 255), strings.Repeat("🎬", 60) + ".mp4"},
	}
	for _, tt := range tests {
		header := attachment(video.DownloadName(tt.filename))
		if strings.ContainsFunc(header, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q: the header %q is not printable ASCII", tt.filename, header)
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "attachment" || params["filename"] != tt.want {
			t.Errorf("%q: %s is %q, %v; want %q", tt.filename, header, params["filename"], err, tt.want)
		}
	}
}
