package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

// writes counts how often something is written to it.
type writes struct {
	bytes.Buffer
	count int
}

func (w *writes) Write(b []byte) (int, error) {
	w.count++
	return w.Buffer.Write(b)
}

// A list is encoded in its own way, and clients must not notice.
func TestAListIsEncodedLikeEverythingElse(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[videoList]().NumField(); n != 2 {
		t.Errorf("a list has %d fields; those that encode does not know are lost", n)
	}
	for videos := range 4 {
		for _, cursor := range []string{"", "a<b>&\"c"} {
			t.Run(fmt.Sprintf("%d videos, cursor %q", videos, cursor), func(t *testing.T) {
				t.Parallel()
				list := videoList{Videos: make([]videoStateView, videos), NextCursor: cursor}
				for i := range list.Videos {
					list.Videos[i] = videoStateView{ID: video.ID(fmt.Sprint(i)), Filename: "<&>\u2028\"customMetadata\":null.mp4"}
					if i > 0 {
						list.Videos[i].CustomMetadata = metadata(`{"album":"` + strings.Repeat("<x>\u2028", i) + `","customMetadata":null}`)
					}
				}
				var want bytes.Buffer
				var got writes
				if err := huma.DefaultJSONFormat.Marshal(&want, list); err != nil {
					t.Fatal(err)
				}
				if err := jsonFormat.Marshal(&got, list); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.String(), got.String()); diff != "" {
					t.Errorf("it differs (-want +got):\n%s", diff)
				}
				if got.count != 1 {
					t.Errorf("it is written in %d parts; a slot is released with the first", got.count)
				}
			})
		}
	}
}

// Metadata is sent as the client wrote it.
func TestAListHasMetadataAsItWasWritten(t *testing.T) {
	t.Parallel()
	const written = "{\"a\" : [ 1.0,\n 2 ]}"
	list := videoList{Videos: make([]videoStateView, 1)}
	list.Videos[0].CustomMetadata = metadata(written)
	var got bytes.Buffer
	if err := jsonFormat.Marshal(&got, list); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), `"customMetadata":`+written+`,`) || !json.Valid(got.Bytes()) {
		t.Errorf("the list is %s", got.String())
	}
}
