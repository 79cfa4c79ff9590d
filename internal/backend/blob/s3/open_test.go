package s3_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// An operator reads these sentences when the service does not start.
func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	p, bucket := newProxy(t, server), server.Bucket(t)
	website := httptest.NewServer(http.HandlerFunc(http.NotFound))
	t.Cleanup(website.Close)
	gone := httptest.NewServer(nil)
	gone.Close()

	good := quick(server)
	stranger, forger := good, good
	stranger.Credentials = credentials.NewStaticCredentialsProvider("nobody", server.SecretKey, "")
	forger.Credentials = credentials.NewStaticCredentialsProvider(server.AccessKey, "wrong", "")
	spoilt := through(p, server.URL(bucket, ""), server)
	for _, tt := range []struct {
		name, url string
		opts      s3.Options
		spoil     spoiler
		want      string
	}{
		{"the bucket does not exist", server.URL("no-such-bucket", ""), good, nil, "s3://no-such-bucket at " + server.Endpoint + ": there is no such bucket"},
		{"the access key is unknown", server.URL(bucket, ""), stranger, nil, "the access key in AWS_ACCESS_KEY_ID is not known to the server"},
		{"the secret key is wrong", server.URL(bucket, ""), forger, nil, "the secret key in AWS_SECRET_ACCESS_KEY is wrong"},
		{"the region is wrong", strings.Replace(server.URL(bucket, ""), "us-east-1", "eu-west-1", 1), good, nil, "the region is wrong"},
		{"nobody listens", "s3://bucket?endpoint=" + gone.URL, good, nil, "the server cannot be reached"},
		{"the server is a website", "s3://bucket?endpoint=" + website.URL, good, nil, "the server refused, or does not speak S3"},
		{"the rights do not suffice", spoilt, good, answer(http.StatusForbidden, "AccessDenied"), "not allowed to list the bucket"},
		{"the clock is wrong", spoilt, good, answer(http.StatusForbidden, "RequestTimeTooSkewed"), "the clock of this machine is wrong"},
		{"the bucket is elsewhere", spoilt, good, answer(http.StatusMovedPermanently, "PermanentRedirect"), "the bucket is in another region"},
		{"the server fails", spoilt, good, answer(http.StatusInternalServerError, "InternalError"), "the server has an internal error"},
		{"the URL is wrong", "s3://bucket?regoin=x", good, nil, `an unknown parameter "regoin"`},
		{"parts are too small", server.URL(bucket, ""), s3.Options{PartSize: 1000}, nil, "parts of 1000 bytes are too small"},
	} {
		p.spoilWith(func(string, int) spoiler { return tt.spoil })
		if s, err := s3.Open(t.Context(), tt.url, tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) || s != nil {
			t.Errorf("when %s, Open = %v; want %q", tt.name, err, tt.want)
		}
	}
}

// Variables of the environment are the process's, so this test runs alone.
func TestOpenUsesTheUsualVariables(t *testing.T) {
	server := s3test.Start(t)
	url := "s3://" + server.Bucket(t) + "/spool?endpoint=" + server.Endpoint
	for _, name := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, err := s3.Open(t.Context(), url, s3.Options{}); err == nil || !strings.Contains(err.Error(), "there are no credentials: set AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials, Open = %v", err)
	}
	if _, err := s3.Open(t.Context(), "s3://bucket", s3.Options{}); err == nil || !strings.Contains(err.Error(), "add ?region= to the storage URL, or set AWS_REGION") {
		t.Errorf("without a region, Open = %v", err)
	}
	for _, pair := range server.Environment() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	if _, err := s3.Open(t.Context(), url, s3.Options{}); err != nil {
		t.Errorf("with credentials, Open = %v", err)
	}
}
