package s3

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]address{
		"s3://bucket":                                        {bucket: "bucket"},
		"s3://bucket/":                                       {bucket: "bucket"},
		"s3://my.bucket-1/":                                  {bucket: "my.bucket-1"},
		"s3://bucket/a/b?region=eu-central-1":                {bucket: "bucket", prefix: "a/b/", region: "eu-central-1"},
		"s3://bucket/a/b/":                                   {bucket: "bucket", prefix: "a/b/"},
		"s3://bucket?path_style=true":                        {bucket: "bucket", pathStyle: true},
		"s3://bucket?endpoint=http://minio:9000":             {bucket: "bucket", endpoint: "http://minio:9000", pathStyle: true},
		"s3://bucket?endpoint=https://x/y&path_style=false":  {bucket: "bucket", endpoint: "https://x/y"},
		"s3://bucket?endpoint=https%3A%2F%2Fx&region=auto":   {bucket: "bucket", endpoint: "https://x", region: "auto", pathStyle: true},
		"s3://bucket?public_endpoint=https://files.test:444": {bucket: "bucket", publicEndpoint: "https://files.test:444"},
	} {
		got, err := parse(raw)
		if err != nil {
			t.Errorf("parse(%q) = %v", raw, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(address{})); diff != "" {
			t.Errorf("parse(%q) differs:\n%s", raw, diff)
		}
	}
}

func TestCheckURLSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                "starts with s3://",
		"bucket/prefix":                   "starts with s3://",
		"https://bucket.s3.amazonaws.com": "starts with s3://",
		"s3://":                           "cannot be the name of a bucket",
		"s3:///prefix":                    "cannot be the name of a bucket",
		"s3://ab":                         "cannot be the name of a bucket",
		"s3://bucket:9000/prefix":         "the server as ?endpoint=",
		"s3://key:hunter2@bucket":         "credentials do not belong in the storage URL",
		"s3://key:hunter2@bucket/%zz":     "cannot be parsed",
		"s3://bucket/a//b":                "the prefix in the storage URL cannot start a key",
		"s3://bucket/../b":                "the prefix in the storage URL cannot start a key",
		"s3://bucket/a%20b":               "the prefix in the storage URL cannot start a key",
		"s3://bucket/" + strings.Repeat("a/", 255) + "b":   "",
		"s3://bucket/" + strings.Repeat("a/", 255) + "bb":  "more than 511",
		"s3://bucket#prefix":                               "has a # in it",
		"s3://bucket?path-style=true":                      `unknown parameter "path-style"; it can have region, endpoint, public_endpoint, path_style`,
		"s3://bucket?region=a&region=b":                    "has the parameter region twice",
		"s3://bucket?path_style=yes":                       "path_style of the storage URL must be true or false",
		"s3://bucket?endpoint=minio:9000":                  "endpoint of the storage URL must be a URL like https://",
		"s3://bucket?endpoint=http://":                     "endpoint of the storage URL must be a URL like https://",
		"s3://bucket?endpoint=http://me:hunter2@host":      "endpoint of the storage URL must be a URL like https://",
		"s3://bucket?endpoint=http://me:hunter2@host:port": "endpoint of the storage URL cannot be parsed",
		"s3://bucket?public_endpoint=files.example.com":    "public_endpoint of the storage URL must be a URL like https://",
		"s3://bucket?endpoint=%zz":                         "parameters of the storage URL cannot be parsed",
	} {
		err := CheckURL(raw)
		if want == "" {
			if err != nil {
				t.Errorf("CheckURL(%q) = %v; want none", raw, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("CheckURL(%q) = %v; want %q and no secret", raw, err, want)
		}
	}
}

func TestSizeOfPartsKeepsTheNumberOfParts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ size, want int64 }{
		{1, defaultPart},
		{defaultPart * maxParts, defaultPart},
		{defaultPart*maxParts + 1, defaultPart + mib},
		{5 << 40, 525 * mib},
	} {
		got := partSizeFor(tt.size, defaultPart)
		if got != tt.want || (tt.size+got-1)/got > maxParts {
			t.Errorf("partSizeFor(%d) = %d; want %d", tt.size, got, tt.want)
		}
	}
}
