package uploads_test

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

func TestReceiveUploadRefuses(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	other := b.Create(video.Draft{})
	tests := []struct {
		name   string
		change func(*uploads.Incoming)
		kind   video.Kind
		code   string
	}{
		{"another content type", func(in *uploads.Incoming) { in.ContentType = "video/webm" }, video.Forbidden, "content_type_mismatch"},
		{"a content type with parameters", func(in *uploads.Incoming) { in.ContentType += "; x=y" }, video.Forbidden, "content_type_mismatch"},
		{"a forged token", func(in *uploads.Incoming) { in.Token = "9999999999.abcd.AAAA" }, video.Forbidden, "url_invalid"},
		{"no token", func(in *uploads.Incoming) { in.Token = "" }, video.Forbidden, "url_invalid"},
		{"another video's token", func(in *uploads.Incoming) { in.Video = other.Video.ID }, video.Forbidden, "url_invalid"},
		{"a length over the limit", func(in *uploads.Incoming) { in.Length = 1<<20 + 1 }, video.TooLarge, "file_too_large"},
		{"a body over the limit", func(in *uploads.Incoming) { in.Length, in.Body = -1, bytes.NewReader(make([]byte, 1<<20+1)) }, video.TooLarge, "file_too_large"},
		{"a broken connection", func(in *uploads.Incoming) { in.Body = io.MultiReader(in.Body, iotest.ErrReader(io.ErrUnexpectedEOF)) }, video.Invalid, "upload_interrupted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := b.Incoming(b.Create(video.Draft{}), servicetest.LikeVideo)
			tt.change(&in)
			_, err := b.Uploads.Receive(t.Context(), in)
			servicetest.WantCode(t, err, tt.kind, tt.code)
			if keys := b.Objects(); len(keys) != 0 {
				t.Errorf("a refused upload left %v", keys)
			}
		})
	}
}

func TestUploadAddressExpiresToTheSecond(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	b.Advance(up.Video.UploadExpiresAt.Sub(b.Now()) - time.Second)
	b.Put(up, servicetest.LikeVideo)
	b.Advance(time.Second)
	_, err := b.Uploads.Receive(t.Context(), b.Incoming(up, servicetest.LikeVideo))
	servicetest.WantCode(t, err, video.Forbidden, "url_expired")
}

func TestRepeatedPutReplacesTheWhole(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	b.Put(up, []byte("something longer that is no video at all"))
	b.Put(up, servicetest.LikeVideo)
	v, err := b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	if err != nil || v.Status != video.Processing {
		t.Fatalf("Complete = %s, %v; want processing", v.Status, err)
	}
	if got := b.Video(v.ID).Source.Size; got != int64(len(servicetest.LikeVideo)) {
		t.Errorf("source has %d bytes, want %d", got, len(servicetest.LikeVideo))
	}
}
