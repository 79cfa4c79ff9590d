package probe

import (
	"errors"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, head, want string }{
		{"a film", "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00", ""},
		{"a picture", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "it begins like a picture"},
		{"moving pictures that are no film", "GIF89a\x01\x00", "it begins like a picture"},
		{"music", "ID3\x04\x00\x00\x00\x00", "it begins like a sound file"},
		{"a web page", "<!DOCTYPE html><p>404", "it begins like a web page"},
		{"a playlist", "#EXTM3U\n#EXTINF:1,\n", "it begins like a text"},
		{"an archive", "PK\x03\x04\x14\x00", "it begins like an archive"},
		{"sound in a container of films", "\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00", "does not begin like any video"},
		{"noise", "\x00\xff\x13\x88\x01\x02", "does not begin like any video"},
		{"nothing", "", "does not begin like any video"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Admit([]byte(tt.head), false)
			if tt.want == "" {
				if err != nil {
					t.Errorf("Admit = %v; want nil", err)
				}
				return
			}
			if f, ok := errors.AsType[*video.Failure](err); !ok || f.Code != video.NotAVideo || !strings.Contains(f.Message, tt.want) {
				t.Errorf("Admit = %v; want not_a_video, and that %s", err, tt.want)
			}
		})
	}
}
