package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/backend/pace"
)

// jsonFormat is huma's format, except that the videos of a list are encoded one by one: with all the
// metadata that a page can have it takes 10 ms and more.
var jsonFormat = huma.Format{Marshal: marshal, Unmarshal: huma.DefaultJSONFormat.Unmarshal}

func marshal(w io.Writer, body any) error {
	if l, ok := body.(videoList); ok {
		return l.encode(w)
	}
	return huma.DefaultJSONFormat.Marshal(w, body)
}

// listBuffers are used again. Each list would need one of megabytes, and collecting them as garbage
// delays every other request.
var listBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encode writes the list at once, like every body, see encodedWriter.
func (l videoList) encode(w io.Writer) error {
	body := listBuffers.Get().(*bytes.Buffer)
	defer listBuffers.Put(body)
	body.Reset()
	body.Grow(l.size())
	body.WriteString(`{"videos":[`)
	work := pace.List()
	for i := range l.Videos {
		work.Pause()
		if i > 0 {
			body.WriteByte(',')
		}
		if err := l.Videos[i].encode(body); err != nil {
			return err
		}
	}
	body.WriteByte(']')
	if l.NextCursor != "" {
		body.WriteString(`,"nextCursor":`)
		if err := appendJSON(body, l.NextCursor); err != nil {
			return err
		}
	}
	body.WriteString("}\n")
	_, err := w.Write(body.Bytes())
	return err
}

// encode writes one video. Its metadata is copied: it is JSON already, and encoding/json would parse it once more,
// which takes longer than everything else together.
func (v videoStateView) encode(to *bytes.Buffer) error {
	const field, none = `"customMetadata":`, "null"
	metadata := v.CustomMetadata
	if metadata == nil {
		return appendJSON(to, &v)
	}
	v.CustomMetadata = nil
	var others bytes.Buffer
	if err := appendJSON(&others, &v); err != nil {
		return err
	}
	before, after, found := bytes.Cut(others.Bytes(), []byte(field+none)) // never in a string, where quotes are escaped
	if !found {
		return errors.New("a video is encoded without metadata")
	}
	to.Write(before)
	to.WriteString(field)
	to.Write(metadata)
	to.Write(after)
	return nil
}

// appendJSON encodes a value without the newline that an encoder writes after it.
func appendJSON(to *bytes.Buffer, value any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	to.Truncate(len(bytes.TrimSuffix(to.Bytes(), []byte("\n"))))
	return err
}

// size returns about how long the encoded list is.
func (l videoList) size() int {
	const others = 2 << 10 // what a video has besides metadata
	n := others
	for i := range l.Videos {
		n += others + len(l.Videos[i].CustomMetadata)
	}
	return n
}
