package api

import (
	"bytes"
	"encoding/json"
	"io"

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

// encode writes the list at once, like every body, see encodedWriter.
func (l videoList) encode(w io.Writer) error {
	var body bytes.Buffer
	body.Grow(l.size())
	body.WriteString(`{"videos":[`)
	work := pace.List()
	for i := range l.Videos {
		work.Pause()
		if i > 0 {
			body.WriteByte(',')
		}
		if err := appendJSON(&body, &l.Videos[i]); err != nil {
			return err
		}
	}
	body.WriteByte(']')
	if l.NextCursor != "" {
		body.WriteString(`,"nextCursor":`)
		if err := appendJSON(&body, l.NextCursor); err != nil {
			return err
		}
	}
	body.WriteString("}\n")
	_, err := w.Write(body.Bytes())
	return err
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
