package video

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// Each field of a video belongs to what people know, which stays when its file is replaced, or to the file.
func TestEveryFieldStaysOrComesWithTheFile(t *testing.T) {
	t.Parallel()
	stay := []string{"ID", "Tenant", "KeyID", "Title", "IsPublic", "Metadata", "Tags", "Moving", "AllowedOrigins", "AllowNoOrigin", "CreatedAt", "DeletedAt", "ExpiresAt", "ExpiryTold", "Replaces", "Awaited", "Popular", "ReplacedAt"}
	own := []string{"ObjectsIn", "BeforeIn", "BeforeUntil", "Resolutions", "Files", "SizeBytes"} // made of both
	own = append(own, "Speech")                                                                  // asked for before, made again of the file
	v := Video{Speech: &Speech{Transcription: &MadeText{Language: "de", Status: Ready}}}
	var c Video
	of := reflect.ValueOf(&c).Elem()
	for i := range of.NumField() {
		fill(of.Field(i))
	}
	c.ID, v.ID = "c", "v"
	now := v.WithFileOf(c, time.Now())
	for i := range of.NumField() {
		name := of.Type().Field(i).Name
		before, after, got := reflect.ValueOf(v).Field(i).Interface(), of.Field(i).Interface(), reflect.ValueOf(now).Field(i).Interface()
		switch {
		case slices.Contains(own, name):
		case slices.Contains(stay, name) && !reflect.DeepEqual(got, before):
			t.Errorf("%s does not stay", name)
		case !slices.Contains(stay, name) && !reflect.DeepEqual(got, after):
			t.Errorf("%s does not come with the file: say in WithFileOf what becomes of it", name)
		}
	}
	if again := now.Speech.Transcription; again.Language != "de" || again.Status != Processing {
		t.Errorf("the transcription is %+v: it is of the file before", again)
	}
	if now.Folder() != c.Folder() || now.BeforeIn != v.Folder() || now.Resolutions[0].VideoID != "v" {
		t.Errorf("the video is %+v", now)
	}
}

// fill gives a field a value that is not zero.
func fill(f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		f.SetString("x")
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Int, reflect.Int64:
		f.SetInt(7)
	case reflect.Float64:
		f.SetFloat(7)
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	case reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
	case reflect.Struct:
		if f.Type() == reflect.TypeFor[time.Time]() {
			f.Set(reflect.ValueOf(time.Unix(7, 0)))
			return
		}
		for i := range f.NumField() {
			fill(f.Field(i))
		}
	}
}
