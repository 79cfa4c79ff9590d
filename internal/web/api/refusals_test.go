package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/sound"
	"github.com/spool-video/spool/internal/video"
)

// field is a field of a request body.
type field struct {
	name, good string
	values     []string // worth a try beside those of everyValue
}

// bodyOperation is an operation with a JSON body.
type bodyOperation struct {
	name, method, path string
	fields             []field
}

var tagSamples = []string{`[" a ","A","a"]`, `["a\u0000b",""," "]`, `["` + strings.Repeat("ü", 64) + `"]`, `["` + strings.Repeat("ü", 65) + `"]`, `["a","b",1]`}

var timeSamples = []string{`"2130-01-02T12:00:00Z"`, `"2130-01-02T12:00:00.123456+02:00"`, `"2130-01-02"`, `"2130-01-02T12:00:00"`, `"2020-01-02T12:00:00Z"`, `"0001-01-01T00:00:00Z"`, `"99999-01-01T00:00:00Z"`, `4102444800`}

// bodyOperations are all operations with a JSON body. Their paths have {id} in place of an id.
var bodyOperations = []bodyOperation{
	{"createVideo", "POST", "/api/video", []field{
		{"filename", `"a.mp4"`, nil},
		{"title", `"A film"`, nil},
		{"resolutions", `["720p","144p"]`, []string{`["720p","720p"]`, `["720P"]`, `["8k",1,"x",null]`}},
		{"allowedOrigins", `["example.com","*.example.org"]`, []string{`[]`, `["*","https://a.b/c"]`, `["a.b",1]`, `"a.b"`}},
		{"allowNoOrigin", `true`, []string{`"true"`}},
		{"isPublic", `true`, []string{`"true"`}},
		{"thumbnailTimestampsSeconds", `[0,1.5]`, []string{`[-1]`, `[1e400]`, `[-1e400]`, `[1,"x",-2,null]`, `[-0]`}},
		{"customMetadata", `{ "a" : 1 }`, nil},
		{"sourceUrl", `null`, []string{`"https://1.1.1.1/a.mp4"`, `"http://1.1.1.1/a.mp4"`, `"https://127.0.0.1/a.mp4"`}},
		{"codecs", `["h264"]`, []string{`["av1"]`, `["av1","av1"]`, `["vp9",1]`, `["H264"]`}},
		{"hdr", `"sdr"`, []string{`"keep"`, `"SDR"`, `1`}},
		{"acceptAudio", `true`, []string{`"true"`}},
		{"copySource", `"auto"`, []string{`"never"`, `"always"`, `""`, `1`, `null`}},
		{"loudness", `"keep"`, []string{`"normalize"`, `"loud"`, `1`}},
		{"profile", `null`, []string{`"none such"`, `1`}},
		{"upscale", `true`, []string{`"true"`}},
		{"tags", `["a"]`, tagSamples},
		{"expiresAt", `null`, timeSamples},
		{"maxDurationSeconds", `60`, []string{`0.001`, `0.0009`, `31536000`, `31536001`, `"60"`}},
		{"clip", `null`, []string{
			`{"videoId":"0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e","startSeconds":0,"endSeconds":1}`, `{"videoId":"x","startSeconds":1,"endSeconds":1}`, `{"videoId":7}`,
		}},
		{"trim", `{"startSeconds":1,"endSeconds":2.5}`, []string{
			`{"startSeconds":null}`, `{"endSeconds":0}`, `{"startSeconds":-1}`, `{"startSeconds":2,"endSeconds":2}`, `{"startSeconds":"1","endSeconds":[]}`, `{"endSeconds":1e400}`, `{"startSeconds":1e400}`,
		}},
		{"transcribe", `false`, []string{`true`, `"en"`, `"klingonisch"`, `""`, `1`, `null`}},
		{"translate", `[]`, []string{`["de"]`, `["klingonisch"]`}},
		{"watermark", `null`, []string{
			`{}`, `{"id":"x"}`, `{"id":"` + testID + `"}`, `{"id":"` + testID + `","position":"middle","width":0.01,"margin":0.6,"opacity":-1}`, `{"id":1,"position":1,"width":"1"}`, `"` + testID + `"`,
		}},
	}},
	{"completeUpload", "POST", "/api/video/{id}/complete-upload", []field{{"checksum", `"md5"`, nil}}},
	{"replaceVideo", "POST", "/api/video/{id}/replace", []field{
		{"filename", `"b.mp4"`, nil},
		{"resolutions", `["144p"]`, []string{`["8k",1,"x",null]`}},
		{"thumbnailTimestampsSeconds", `[0]`, []string{`[-1]`}},
		{"sourceUrl", `null`, []string{`"https://127.0.0.1/a.mp4"`}},
		{"codecs", `["h264"]`, []string{`["vp9",1]`}},
		{"hdr", `"sdr"`, []string{`"keep"`}},
		{"acceptAudio", `null`, []string{`1`}},
		{"copySource", `"never"`, []string{`"always"`}},
		{"loudness", `"normalize"`, []string{`"loud"`}},
		{"profile", `""`, []string{`"none such"`, `1`}},
		{"upscale", `true`, []string{`"true"`}},
		{"maxDurationSeconds", `60`, []string{`0`}},
		{"trim", `{"startSeconds":1}`, []string{`{"startSeconds":2,"endSeconds":1}`}},
	}},
	{"addAudio", "POST", "/api/video/{id}/audio", []field{
		{"sourceUrl", `"https://1.1.1.1/a.mp3"`, []string{`"https://127.0.0.1/a.mp3"`, `1`}},
		{"language", `"de"`, []string{`"not a language"`}},
		{"label", `"German"`, []string{`"a\nb"`}},
		{"kind", `"dub"`, []string{`"music"`}},
	}},
	{"changeAudio", "PATCH", "/api/video/{id}", []field{
		{"language", `"de"`, []string{`"not a language"`}},
		{"label", `"German"`, []string{`"a\nb"`}},
		{"kind", `"dub"`, []string{`"music"`}},
		{"default", `true`, []string{`false`, `"true"`}},
	}},
	{"createToken", "POST", "/api/video/{id}/token", []field{{"expiresIn", `60`, []string{`86400`, `86401`, `"60"`}}}},
	{"createShare", "POST", "/api/video/{id}/share", []field{
		{"label", `"Press"`, []string{`"a\\u0000b"`}},
		{"expiresAt", `"2099-01-01T00:00:00Z"`, []string{`"2001-01-01T00:00:00Z"`, `"tomorrow"`, `1`}},
		{"password", `"hush"`, []string{`"a\\nb"`}},
		{"download", `true`, []string{`"true"`}},
	}},
	{"createOriginal", "POST", "/api/video/{id}/original", []field{{"expiresIn", `60`, []string{`31536000`, `31536001`, `"60"`}}}},
	{"editVideo", "PATCH", "/api/video/{id}", []field{{"title", `"Another"`, nil}, {"customMetadata", `{"b":2}`, nil}, {"tags", `["a"]`, tagSamples}, {"expiresAt", `null`, timeSamples},
		{"isPublic", `true`, []string{`"true"`}},
		{"allowedOrigins", `["example.com"]`, []string{`[]`, `["*"]`}}, {"allowNoOrigin", `false`, nil}}},
	{"editVideos", "PATCH", "/api/video", []field{
		{"ids", `["` + testID + `"]`, []string{`["x","` + testID + `",1]`, `["` + strings.Repeat(testID+`","`, 100) + `"]`}},
		{"tags", `{"add":["a"],"remove":["b"]}`, []string{`{"add":["",1],"remove":[" "]}`, `{"add":null,"remove":[]}`, `{"add":"a"}`}},
		{"expiresAt", `null`, timeSamples},
	}},
	{"transcribeVideo", "POST", "/api/video/{id}/transcribe", []field{{"language", `"en"`, []string{`"klingonisch"`}}}},
	{"translateCaptions", "POST", "/api/video/{id}/captions/en/translate", []field{{"to", `["de"]`, []string{`[]`, `["en"]`, `["klingonisch"]`, `["de",1]`}}}},
	{"putPoster", "PUT", "/api/video/{id}/poster", []field{{"timeSeconds", `1.5`, nil}}},
	{"reportPlay", "POST", "/api/play/{id}", []field{
		{"session", `"a-session"`, []string{`"1234567"`}},
		{"sequence", `0`, []string{`1000000`, `1000001`}},
		{"totalSeconds", `1`, []string{`10000001`, `"1"`}},
		{"watched", `[{"quality":"720p","seconds":1,"first":true}]`, []string{`[{"seconds":-1},{"seconds":3601},{"quality":1},{"first":"x","seconds":0},null]`}},
		{"parts", `[0,99]`, []string{`[-1,100,1.5,"x"]`}},
		{"completed", `true`, nil},
		{"startupSeconds", `0.5`, []string{`600`, `601`}},
		{"stalls", `1`, []string{`1001`}},
		{"stalledSeconds", `1.5`, []string{`3601`}},
		{"failed", `false`, nil},
		{"referrer", `"example.com"`, []string{`"https://example.com/"`, `"Example.com"`, `"-"`}},
	}},
	{"addResolution", "POST", "/api/video/{id}/resolutions", []field{{"resolution", `"144p"`, []string{`"720p"`, `"720P"`, `"9p"`}}}},
	{"putChapters", "PUT", "/api/video/{id}/chapters", []field{
		{"chapters", `[{"startSeconds":0,"title":"One"}]`, []string{
			`[{"startSeconds":-1,"title":""}]`, `[{"startSeconds":2,"title":"a"},{"startSeconds":1,"title":"b"}]`, `[{"title":1},{"startSeconds":"1"},null]`, `[{"startSeconds":1e999,"title":"a\nb"}]`,
		}},
	}},
	{"createKey", "POST", "/api/key", []field{
		{"name", `"site"`, nil},
		{"scopes", `["read"]`, []string{`["read","read"]`, `["READ"]`, `["read",1,"x"]`, `"read"`}},
		{"expiresIn", `3600`, []string{`315360000`, `315360001`, `"60"`}},
	}},
	{"chooseTenant", "PATCH", "/api/session/{id}", []field{{"tenant", `"acme"`, nil}}},
	{"createWebhook", "POST", "/api/webhook", []field{
		{"url", `"https://1.1.1.1/"`, []string{`"http://1.1.1.1/"`, `"https://127.0.0.1/"`, `"ftp://1.1.1.1/"`}},
		{"events", `["video.ready"]`, []string{`["video.ready","video.ready"]`, `["video.ready",1,"x"]`, `"video.ready"`}},
		{"description", `"ours"`, nil},
		{"pull", `false`, []string{`"true"`}},
	}},
	{"updateWebhook", "PATCH", "/api/webhook/{id}", []field{
		{"url", `"https://1.1.1.1/x"`, []string{`"http://1.1.1.1/"`, `"https://127.0.0.1/"`}},
		{"events", `["video.ready"]`, []string{`["video.ready","video.ready"]`, `["video.ready",1,"x"]`}},
		{"description", `"ours"`, nil},
		{"enabled", `true`, []string{`"true"`}},
	}},
	{"reportDelivery", "POST", "/api/webhook/delivery/{id}/report", []field{
		{"receipt", `"r"`, nil},
		{"status", `200`, []string{`999`, `1000`, `999.0`, `999.5`, `"200"`}},
		{"error", `"No."`, nil},
		{"milliseconds", `12`, []string{`3600000`, `3600001`, `"12"`}},
	}},
}

// sample is a piece of JSON, and how it is shown if it is long.
type sample struct{ shown, json string }

// everyValue has values of each type, among them the limits of some fields.
func everyValue() []sample {
	var all []sample
	for _, v := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `1.5`, `1.0`, `1e2`, `1e999`, `99999999999999999999`, `-99999999999999999999`,
		`""`, `" "`, `"x"`, `"<ü>"`, `"a\u0000b"`, `"\ud800"`, `"a\nb"`,
		`[]`, `[null]`, `[1]`, `[true]`, `["x"]`, `[""]`, `["x",1,{},"720p",[],null]`, `[[]]`, `[{}]`, `{}`, `{"a":1}`, `{"a":{"a":[1]},"a":2}`,
	} {
		all = append(all, sample{v, v})
	}
	for _, n := range []int{100, 101, 200, 201, 255, 256, 300, 301, 500, 501, 2048, 2049} {
		all = append(all, sample{fmt.Sprintf(`"ü" × %d`, n), `"` + strings.Repeat("ü", n) + `"`})
	}
	for _, list := range []struct {
		item string
		n    int
	}{{`"720p"`, 100}, {`"720p"`, 101}, {`1`, 25}, {`1`, 50}, {`1`, 51}, {`-1`, 50}, {`"x"`, 8}, {`"x"`, 9}, {`"h264"`, 10}, {`"h264"`, 11}, {`"x"`, 25}, {`"x"`, 101}, {`{}`, 101}} {
		all = append(all, sample{fmt.Sprintf(`[%s × %d]`, list.item, list.n), "[" + strings.Repeat(list.item+",", list.n-1) + list.item + "]"})
	}
	for _, n := range []int{16<<10 - 8, 16<<10 - 7} {
		all = append(all, sample{fmt.Sprintf(`{"a": "x" × %d}`, n), `{"a": "` + strings.Repeat("x", n) + `"}`})
	}
	return all
}

// object returns a body with the good values of the fields, except that of the field called name. A value
// of "" leaves the field out.
func (op bodyOperation) object(name, value string) string {
	var members []string
	for _, f := range op.fields {
		v := f.good
		if f.name == name {
			v = value
		}
		if v != "" {
			members = append(members, fmt.Sprintf("%q:%s", f.name, v))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// attempt is a request, and how it is called.
type attempt struct {
	name, path, contentType, body string
	chunked                       bool // the size is not said
}

const jsonType = "application/json"

func (op bodyOperation) attempts() []attempt {
	all := op.wholeBodies()
	add := func(name, body string) { all = append(all, attempt{name, op.path, jsonType, body, false}) }
	for _, f := range op.fields {
		add(f.name+" is missing", op.object(f.name, ""))
		values := everyValue()
		for _, v := range f.values {
			values = append(values, sample{v, v})
		}
		for _, v := range values {
			add(f.name+": "+v.shown, op.object(f.name, v.json))
		}
		good, quoted := op.object("", ""), fmt.Sprintf("%q", f.name)
		add(f.name+" twice, the second of the wrong type", strings.TrimSuffix(good, "}")+","+quoted+":[{}]}")
		add(f.name+" twice, the first of the wrong type", "{"+quoted+":[{}],"+good[1:])
		add(f.name+" escaped", strings.Replace(op.object(f.name, "[{}]"), quoted, fmt.Sprintf(`"\u%04x%s"`, f.name[0], f.name[1:]), 1))
		add(f.name+" in capitals", strings.Replace(op.object(f.name, "[{}]"), quoted, strings.ToUpper(quoted), 1))
	}
	for _, v := range everyValue() {
		var members []string
		for _, f := range op.fields {
			members = append(members, fmt.Sprintf("%q:%s", f.name, v.json))
		}
		add("every field: "+v.shown, "{"+strings.Join(members, ",")+"}")
	}
	return all
}

// wholeBodies are requests whose body is wrong as a whole, or whose id is.
func (op bodyOperation) wholeBodies() (all []attempt) {
	good := op.object("", "")
	for _, body := range []string{
		"", " ", "{}", "{ }", "[]", "[{}]", "null", "true", "1", `"x"`, "{", "}", `{"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a" 1}`, `{'a':1}`, `{a:1}`, "NaN", "{}{}", "{} x", "{},",
		good + good, good + "x", " \t\r\n" + good + "\n", strings.TrimSuffix(good, "}"), strings.TrimSuffix(good, "}") + `,"unknown":[1]}`,
		"\xef\xbb\xbf" + good, "{\"a\":\"\xff\"}", "{\"\xff\":1}", "{\"a\":\"\x00\"}", "{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":1e}`, `{"a":-}`,
	} {
		all = append(all, attempt{fmt.Sprintf("%.60q", body), op.path, jsonType, body, false})
	}
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	large := strings.TrimSuffix(good, "}") + `,"":"` + strings.Repeat("x", maxBody) + `"}`
	all = append(all,
		attempt{"too deep", op.path, jsonType, `{"a":` + deep + `}`, false},
		attempt{"too large", op.path, jsonType, large, false},
		attempt{"too large, of unknown size", op.path, jsonType, large, true},
		attempt{"of unknown size", op.path, jsonType, good, true},
	)
	for _, t := range []string{"", "application/json; charset=utf-8", "APPLICATION/JSON", "application/merge-patch+json", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", "application/json; =", ";"} {
		all = append(all, attempt{fmt.Sprintf("as %q", t), op.path, t, good, false}, attempt{fmt.Sprintf("nothing as %q", t), op.path, t, "", false})
	}
	if strings.Contains(op.path, "{id}") {
		for _, id := range []string{"x", "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6", strings.ReplaceAll(testID, "-", ""), "{" + testID + "}", "%00", "a%2Fb"} {
			path := strings.Replace(op.path, "{id}", id, 1)
			all = append(all, attempt{"the id is " + id, path, jsonType, good, false},
				attempt{"the id is " + id + ", no field is given", path, jsonType, "{}", false},
				attempt{"the id is " + id + ", a field is wrong", path, jsonType, op.object(op.fields[0].name, "[{}]"), false},
				attempt{"the id is " + id + ", the body is malformed", path, jsonType, "{", false},
				attempt{"the id is " + id + ", the body is no JSON", path, "text/plain", "x", false})
		}
		all = append(all, attempt{"the id is unknown", strings.Replace(op.path, "{id}", testID, 1), jsonType, good, false})
	}
	return all
}

// TestRefusals compares the answers to requests that are wrong in every way that we could think of with
// those in testdata/refusals.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, op := range bodyOperations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Config{})
			made := r.refusable()
			g := golden{}
			for _, a := range op.attempts() {
				q := httptest.NewRequest(op.method, strings.ReplaceAll(a.path, "{id}", made[op.name]), strings.NewReader(a.body))
				if a.chunked {
					q = httptest.NewRequest(op.method, q.URL.Path, io.MultiReader(strings.NewReader(a.body)))
				}
				if a.contentType != "" {
					q.Header.Set("Content-Type", a.contentType)
				}
				w := r.send(q)
				g.add(a.name, w)
				r.undo(op.name, made[op.name], w)
			}
			g.compare(t, op.name)
		})
	}
}

// refusedQueries are queries of lists that are wrong in some way, and some that are not.
var refusedQueries = []string{
	"", "limit=0", "limit=1", "limit=100", "limit=101", "limit=-1", "limit=", "limit=01", "limit=%2B1", "limit=1.0", "limit=1e1", "limit=ten", "limit=99999999999999999999", "limit=1&limit=2", "limit=x&limit=y",
	"cursor=", "cursor=x", "cursor=" + testID, "cursor=a&cursor=b", "cursor=%20", "cursor=AA", "cursor=YWNtZQ",
	"status=", "status=Ready", "status=ready", "status=ready,fail", "status=deleted", "status=delivered", "status=ready&status=fail",
	"q=a", "q=", "q=a&q=b", "q=" + strings.Repeat("%C3%BC", video.MaxWanted), "q=" + strings.Repeat("%C3%BC", video.MaxWanted+1),
	"sort=up", "sort=", "sort=newest", "sort=oldest", "sort=oldest&sort=oldest", "sort=oldest&metadata.k=v",
	"metadata=1", "metadata", "metadata[x", "metadata%5Bx%5D=1&metadata.k=v", "metadataX=1", "metadata.=1", "metadata.k=v", "metadata.k", "metadata-k=v", "Metadata=1", "meta.k=v", "xmetadata=1",
	"metadata" + strings.Repeat("x", 200) + "=1", strings.Repeat("metadata.k=v&", video.MaxLabels), strings.Repeat("metadata.k=v&", video.MaxLabels+1), "metadataX=1&metadataY=2",
	"limit=0&cursor=x&status=x&q=" + strings.Repeat("x", video.MaxWanted+1) + "&sort=x&metadata=1", "limit=0&limit=0&cursor=x&cursor=x",
	"status=%zz", "limit=1;cursor=x", "%", "&&&", "=", "offset=3", "Limit=0", "LIMIT=x&order=up&order=down",
}

// TestRefusedQueries is TestRefusals for the queries of lists.
func TestRefusedQueries(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"listVideos": "/api/video", "listDeliveries": "/api/webhook/{id}/deliveries", "getKey": "/api/key", "listTenants": "/api/tenant",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Config{})
			path := strings.Replace(path, "{id}", r.refusable()["updateWebhook"], 1)
			g := golden{}
			for _, query := range refusedQueries {
				q := httptest.NewRequest("GET", path, nil)
				q.URL.RawQuery = query
				g.add(fmt.Sprintf("%.100s", query), r.send(q))
			}
			g.compare(t, name)
		})
	}
}

// refusedPaths are requests whose path, query or headers are wrong in some way, and some that are not.
func refusedPaths() (all []attempt) {
	add := func(method, path, contentType, body string) {
		all = append(all, attempt{method + " " + path, path, contentType, body, false})
	}
	for _, operation := range []string{
		"GET /api/video/{id}", "GET /api/video/{id}/events", "GET /api/video/{id}/public", "GET /api/video/{id}/private/60", "GET /api/video/{id}/private/0", "GET /api/video/{id}/report", "POST /api/video/{id}/import",
		"DELETE /api/video/{id}", "POST /api/video/resolution/{id}/retry", "DELETE /api/video/resolution/{id}", "DELETE /api/video/{id}/captions/en",
		"DELETE /api/key/{id}", "GET /api/webhook/{id}", "DELETE /api/webhook/{id}", "POST /api/webhook/{id}/rotate-secret", "POST /api/webhook/{id}/test", "POST /api/webhook/{id}/fetch",
		"GET /api/webhook/{id}/deliveries", "GET /api/webhook/{id}/deliveries?limit=0", "POST /api/webhook/delivery/{id}/replay",
	} {
		method, path, _ := strings.Cut(operation, " ")
		for _, id := range []string{"x", testID[1:], strings.ReplaceAll(testID, "-", ""), "%00", "a%2Fb", testID, strings.ToUpper(testID)} {
			add(method, strings.Replace(path, "{id}", id, 1), "", "")
		}
	}
	for _, seconds := range []string{"1", "31536000", "31536001", "0", "-1", "01", "1.5", "1e3", "+1", "ten", "", "%20", "99999999999999999999", "3600s", "%31"} {
		add("GET", "/api/video/"+testID+"/private/"+seconds, "", "")
		add("GET", "/api/video/"+testID+"?expiresIn="+strings.ReplaceAll(seconds, "+", "%2B"), "", "")
	}
	captions := "/api/video/{public}/captions/"
	for _, language := range []string{"en", "eng", "EN-us", "x", "", "en_US", "toolonglanguage", "%00", "zh-Hant", "de-AT", "und", "*", strings.Repeat("a", 36)} {
		add("PUT", captions+language, "text/vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")
	}
	for _, t := range []string{"", "text/vtt; charset=utf-8", "application/x-subrip", "text/plain", "text/html", "application/json", "x", ";"} {
		add("PUT", captions+"en", t, "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")
	}
	for _, query := range []string{"label=", "label=" + strings.Repeat("x", 100), "label=" + strings.Repeat("x", 101), "label=a%0Ab", "kind=", "kind=captions", "kind=subtitles", "kind=x", "kind=x&label=%00", "other=1", "kind=captions&kind=x"} {
		add("PUT", captions+"en?"+query, "text/vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n")
	}
	for _, body := range []string{"", "x", "WEBVTT", "WEBVTT\n\nx --> y\n", "WEBVTT\n\n00:00.000 --> 00:01.000\n\xff\n", strings.Repeat("x", 2<<20+1)} {
		add("PUT", captions+"en", "text/vtt", body)
	}
	add("PUT", "/api/video/x/captions/en", "text/html", "x")
	for _, key := range []string{strings.Repeat("k", video.MaxKey), strings.Repeat("k", video.MaxKey+1), "a b", "a\tb", "ü"} {
		for _, body := range []string{validDraft, `{"filename":1}`} {
			all = append(all, attempt{"POST " + video.KeyHeader + ": " + key, "/api/video", jsonType, body, false})
		}
	}
	return all
}

// TestRefusedPaths is TestRefusals for everything else that a request consists of.
func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	public := string(r.Ready(servicetest.Plan("720p", "240p")).ID)
	g := golden{}
	for _, a := range refusedPaths() {
		method, rest, _ := strings.Cut(a.name, " ")
		q := httptest.NewRequest(method, strings.Replace(a.path, "{public}", public, 1), strings.NewReader(a.body))
		if a.contentType != "" {
			q.Header.Set("Content-Type", a.contentType)
		}
		if key, found := strings.CutPrefix(rest, video.KeyHeader+": "); found {
			q.Header.Set(video.KeyHeader, key)
		}
		g.add(fmt.Sprintf("%s, as %q: %.100q", a.name, a.contentType, a.body), r.send(q))
	}
	g.compare(t, "paths")
}

// refusable makes what the operations are for, and returns the ids.
func (r *rig) refusable() map[string]string {
	r.T.Helper()
	id, ready := string(r.Create(video.Draft{}).Video.ID), string(r.Ready(servicetest.Plan("720p", "240p")).ID)
	w := r.send(httptest.NewRequest("POST", "/api/webhook", strings.NewReader(`{"url":"https://1.1.1.1/"}`)))
	var hook struct{ ID string }
	r.Must(json.Unmarshal(w.Body.Bytes(), &hook))
	r.api.plays.rates = limit.NewRates[netip.Prefix](1e6, 1e6, r.Now)
	track := r.addTrack(ready)
	return map[string]string{
		"addAudio": ready, "changeAudio": ready + "/audio/" + track, "completeUpload": id, "createToken": id, "putPoster": id, "reportPlay": string(r.Create(video.Draft{IsPublic: true}).Video.ID), "editVideo": id, "putChapters": id, "addResolution": ready, "updateWebhook": hook.ID, "replaceVideo": ready, "reportDelivery": testID,
	}
}

// addTrack adds a sound track to a video and returns its id.
func (r *rig) addTrack(id string) string {
	r.T.Helper()
	_, t, err := r.Sound.Add(r.T.Context(), r.By, video.ID(id), sound.Names{Language: "de"}, strings.NewReader("x"), 1)
	r.Must(err)
	return t.ID
}

// undo takes back what was made, where the next request would be refused because of it.
func (r *rig) undo(operation, id string, w *httptest.ResponseRecorder) {
	r.T.Helper()
	path := map[string]string{"createKey": "/api/key/%s", "createWebhook": "/api/webhook/%s", "replaceVideo": "/api/video/%s/replace", "addAudio": "/api/video/" + id + "/audio/%s"}[operation]
	if path == "" || w.Code != http.StatusCreated {
		return
	}
	var made struct{ ID string }
	r.Must(json.Unmarshal(w.Body.Bytes(), &made))
	path = fmt.Sprintf(path, made.ID)
	if w := r.send(httptest.NewRequest("DELETE", path, nil)); w.Code != http.StatusOK {
		r.T.Fatalf("DELETE %s is answered %d %s", path, w.Code, w.Body)
	}
}

// golden has the answers to requests, and the names of the requests that got each of them.
type golden struct {
	answers []string
	names   map[string][]string
}

// variable are the parts of answers that are different each time.
var variable = []struct {
	part *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`"requestId":"[^"]+"`), `"requestId":"…"`},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), `ID`},
	{regexp.MustCompile(`(/upload|/v|/embed)/[^"]+`), `$1/…`},
	{regexp.MustCompile(`"(secret|token|nextCursor)":"[^"]+"`), `"$1":"…"`},
}

func (g *golden) add(name string, w *httptest.ResponseRecorder) {
	body := strings.TrimSpace(w.Body.String())
	for _, v := range variable {
		body = v.part.ReplaceAllString(body, v.name)
	}
	if len(body) > 3000 {
		body = fmt.Sprintf("%s… (%d bytes)", body[:3000], len(body))
	}
	answer := strings.TrimSpace(fmt.Sprintf("%d %s %s", w.Code, w.Header().Get("Content-Type"), body))
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if !slices.Contains(g.answers, answer) {
		g.answers = append(g.answers, answer)
	}
	g.names[answer] = append(g.names[answer], name)
}

// compare compares the answers with those of a file.
func (g *golden) compare(t *testing.T, name string) {
	t.Helper()
	var got strings.Builder
	for _, answer := range g.answers {
		fmt.Fprintln(&got, answer)
		for _, name := range g.names[answer] {
			fmt.Fprintf(&got, "\t%s\n", name)
		}
	}
	file := filepath.Join("testdata", "refusals", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("answers differ from %s (-want +got):\n%s", file, diff)
	}
}
