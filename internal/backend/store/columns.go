package store

import (
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/spool-video/spool/internal/video"
)

// field is a column of a video: value points to what is stored and to what a row is read into.
type field struct {
	column string
	value  any
}

// videoFields are all columns of a video, the plan last. A new field of a video is a line here and in the schema.
func videoFields(v *video.Video) []field {
	return []field{
		{"id", &v.ID},
		{"objects_in", optionalText[video.Folder]{&v.ObjectsIn}},
		{"before_in", optionalText[video.Folder]{&v.BeforeIn}},
		{"before_until", timestamp{&v.BeforeUntil}},
		{"replaces", optionalText[video.ID]{&v.Replaces}},
		{"tenant", &v.Tenant},
		{"key_id", &v.KeyID},
		{"filename", &v.Filename},
		{"title", &v.Title},
		{"title_key", titleKey{&v.Title}},
		{"content_type", &v.ContentType},
		{"is_public", &v.IsPublic},
		{"moving_to", optionalText[video.Visibility]{&v.Moving}},
		{"allowed_origins", nullableList{&v.AllowedOrigins}},
		{"allow_no_origin", &v.AllowNoOrigin},
		{"upscale", &v.Upscale},
		{"codecs", optionalJSON{&v.Codecs}},
		{"popular_codecs", optionalJSON{&v.Popular}},
		{"max_duration_us", microseconds{&v.MaxDuration}},
		{"tags", optionalJSON{&v.Tags}},
		{"trim", optionalJSON{&v.Trim}},
		{"watermark", optionalJSON{&v.Watermark}},
		{"watermark_id", watermarkID{&v.Watermark}},
		{"hdr", optionalText[video.HDR]{&v.HDR}},
		{"profile", optionalJSON{&v.Profile}},
		{"accept_audio", &v.AcceptAudio},
		{"loudness", optionalText[video.Levelling]{&v.Loudness}},
		{"speech", optionalJSON{&v.Speech}},
		{"copy_source", optionalText[video.CopySource]{&v.CopySource}},
		{"metadata", optionalText[json.RawMessage]{&v.Metadata}},
		{"thumbnails", jsonText{&v.Thumbnails}},
		{"status", &v.Status},
		{"failure_code", failureCode{&v.Failure}},
		{"failure_message", failureMessage{&v.Failure}},
		{"created_at", timestamp{&v.CreatedAt}},
		{"upload_expires_at", timestamp{&v.UploadExpiresAt}},
		{"completed_at", timestamp{&v.CompletedAt}},
		{"playable_at", timestamp{&v.PlayableAt}},
		{"replaced_at", timestamp{&v.ReplacedAt}},
		{"deleted_at", timestamp{&v.DeletedAt}},
		{"expires_at", timestamp{&v.ExpiresAt}},
		{"expiry_told", &v.ExpiryTold},
		{"import_progress", importProgress{v}},
		{"source_key", optionalText[string]{&v.Source.Key}},
		{"source_size", optionalInt{&v.Source.Size}},
		{"source_etag", optionalText[string]{&v.Source.ETag}},
		{"source_sha256", optionalText[string]{&v.Source.SHA256}},
		{"duration_us", microseconds{&v.Duration}},
		{"size_bytes", &v.SizeBytes},
		{"warnings", optionalJSON{&v.Warnings}},
		{"files", optionalJSON{&v.Files}},
		{"sound", optionalJSON{&v.Sound}},
		{"plan", optionalJSON{&v.Plan}},
	}
}

// columnsOf lists columns for a statement.
func columnsOf(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.column
	}
	return strings.Join(names, ", ")
}

// valuesOf returns what is stored in columns, or what a row is read into.
func valuesOf(fields []field) []any {
	values := make([]any, len(fields))
	for i, f := range fields {
		values[i] = f.value
	}
	return values
}

// Columns that scanVideo reads. A plan can be large, and a list needs it only for videos that are processing.
var (
	fullColumns        = strings.Replace(columnsOf(videoFields(new(video.Video))), " sound,", soundColumn, 1)
	columnsWithoutPlan = strings.TrimSuffix(fullColumns, "plan") + `NULL`
	listColumns        = strings.TrimSuffix(fullColumns, "plan") + `CASE WHEN status = 'processing' THEN plan END`
)

// soundColumn is the column of the sound tracks. A video that was made before there was such a column has one track if
// its plan has audio that could be decoded.
const soundColumn = ` COALESCE(sound, CASE
	WHEN plan LIKE '%"audio":{"stream":%' AND COALESCE(warnings, '') NOT LIKE '%the video is silent.%'
	THEN '{"tracks":[{"id":"' || id || '","number":1,"name":"audio","language":"und","label":"Sound","kind":"main","source":"embedded","default":true,"status":"' || status || '"}],"inFiles":1,"last":1}'
	WHEN plan IS NOT NULL THEN '{"tracks":[]}' END),`

// scanVideo reads a row of one of these lists of columns.
func scanVideo(row interface{ Scan(...any) error }) (video.Video, error) {
	var v video.Video
	if err := row.Scan(valuesOf(videoFields(&v))...); err != nil {
		return video.Video{}, Wrap("read video", err)
	}
	return v, nil
}

// insertVideo returns a statement that stores a video, and its arguments.
func insertVideo(v *video.Video) (string, []any) {
	fields := videoFields(v)
	marks := make([]string, len(fields))
	for i := range fields {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	return `INSERT INTO video (` + columnsOf(fields) + `) VALUES (` + strings.Join(marks, ", ") + `)`, valuesOf(fields)
}

// timestamp is a time in milliseconds; the zero time is NULL.
type timestamp struct{ at *time.Time }

func (t timestamp) Value() (driver.Value, error) { return Millis(*t.at), nil }

func (t timestamp) Scan(value any) error {
	var ms sql.NullInt64
	err := ms.Scan(value)
	*t.at = FromMillis(ms)
	return err
}

// optionalText is a text; an empty one is NULL.
type optionalText[T ~string | ~[]byte] struct{ text *T }

func (o optionalText[T]) Value() (driver.Value, error) { return NullText(string(*o.text)), nil }

func (o optionalText[T]) Scan(value any) error {
	var text sql.NullString
	err := text.Scan(value)
	if text.Valid {
		*o.text = T(text.String)
	}
	return err
}

// optionalInt is a number; 0 is NULL.
type optionalInt struct{ number *int64 }

func (o optionalInt) Value() (driver.Value, error) {
	if *o.number == 0 {
		return nil, nil
	}
	return *o.number, nil
}

func (o optionalInt) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	*o.number = n.Int64
	return err
}

// microseconds is how long something takes.
type microseconds struct{ duration *time.Duration }

func (m microseconds) Value() (driver.Value, error) { return m.duration.Microseconds(), nil }

func (m microseconds) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	*m.duration = time.Duration(n.Int64) * time.Microsecond
	return err
}

// titleKey is the key of a title; reading it leaves the title as it is.
type titleKey struct{ title *string }

func (k titleKey) Value() (driver.Value, error) { return TitleKey(*k.title), nil }

func (titleKey) Scan(any) error { return nil }

// maxTitleKey is how many bytes of a title a list is ordered by. PostgreSQL limits an entry of an index.
const maxTitleKey = 256

// TitleKey returns what a title is ordered by. It has no case and no accents, so that "Äpfel" is beside "apples". It
// is in hexadecimal digits, which all collations of PostgreSQL order as SQLite does.
func TitleKey(title string) string {
	folded := cases.Fold().String(title)
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), folded)
	if err != nil {
		plain = folded
	}
	return hex.EncodeToString([]byte(plain[:min(len(plain), maxTitleKey)]))
}

// jsonText is a document as JSON.
type jsonText struct{ document any } // a pointer

func (j jsonText) Value() (driver.Value, error) {
	text, err := json.Marshal(j.document)
	return string(text), err
}

func (j jsonText) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil || !text.Valid {
		return err
	}
	return json.Unmarshal([]byte(text.String), j.document)
}

// optionalJSON is a list or a pointer as JSON; an empty list and nil are NULL.
type optionalJSON struct{ document any } // a pointer to it

func (o optionalJSON) Value() (driver.Value, error) {
	if d := reflect.ValueOf(o.document).Elem(); d.IsZero() || d.Kind() == reflect.Slice && d.Len() == 0 {
		return nil, nil
	}
	return jsonText(o).Value()
}

func (o optionalJSON) Scan(value any) error { return jsonText(o).Scan(value) }

// nullableList is a list as JSON; nil is NULL, and an empty list is not.
type nullableList struct{ list *[]string }

func (l nullableList) Value() (driver.Value, error) {
	if *l.list == nil {
		return nil, nil
	}
	return jsonText{l.list}.Value()
}

func (l nullableList) Scan(value any) error { return jsonText{l.list}.Scan(value) }

// failureCode and failureMessage are a failure, in this order; no failure is NULL.
type (
	failureCode    struct{ failure **video.Failure }
	failureMessage struct{ failure **video.Failure }
)

func (f failureCode) Value() (driver.Value, error) {
	if *f.failure == nil {
		return nil, nil
	}
	return string((*f.failure).Code), nil
}

func (f failureCode) Scan(value any) error {
	var code sql.NullString
	err := code.Scan(value)
	if code.Valid {
		*f.failure = &video.Failure{Code: video.FailureCode(code.String)}
	}
	return err
}

func (f failureMessage) Value() (driver.Value, error) {
	if *f.failure == nil {
		return nil, nil
	}
	return (*f.failure).Message, nil
}

func (f failureMessage) Scan(value any) error {
	var message sql.NullString
	err := message.Scan(value)
	if *f.failure != nil {
		(*f.failure).Message = message.String
	}
	return err
}

// millionths is how fine the progress of an import is stored.
const millionths = 1_000_000

// importProgress is in millionths; NULL: a client uploads the file.
type importProgress struct{ video *video.Video }

func (p importProgress) Value() (driver.Value, error) {
	if !p.video.Imported {
		return nil, nil
	}
	return int64(p.video.ImportProgress * millionths), nil
}

func (p importProgress) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	p.video.Imported, p.video.ImportProgress = n.Valid, float64(n.Int64)/millionths
	return err
}

// watermarkID is the ID of a watermark, by which its videos are found; reading it leaves the watermark as it is.
type watermarkID struct{ watermark **video.Watermark }

func (w watermarkID) Value() (driver.Value, error) {
	if *w.watermark == nil {
		return nil, nil
	}
	return string((*w.watermark).ID), nil
}

func (watermarkID) Scan(any) error { return nil }
