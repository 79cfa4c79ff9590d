package s3_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

const guide = "../../../../docs/storage.md"

// documented returns the piece of JSON in the guide that has this word in it.
func documented(t *testing.T, word string) []byte {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```json\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.Contains(block, word) {
			return []byte(block)
		}
	}
	t.Fatalf("%s shows no JSON with %s", guide, word)
	return nil
}

// A page may upload to a bucket that has the rule of the guide.
func TestDocumentedCORSRuleLetsPagesUpload(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	if server.Program == "minio" {
		t.Skip("MinIO has no rules for a bucket, but one setting for all")
	}
	s, bucket := inBucket(t, server)
	var rules types.CORSConfiguration
	if err := json.Unmarshal(documented(t, "CORSRules"), &rules); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Client().PutBucketCors(t.Context(), &sdk.PutBucketCorsInput{Bucket: &bucket, CORSConfiguration: &rules}); err != nil {
		t.Fatal(err)
	}
	address, err := s.Capabilities().Presign.PresignPut(t.Context(), "key", "video/mp4", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]string{"https://www.example.com": "https://www.example.com", "https://evil.example": ""} {
		_, h, _ := request(t, http.MethodOptions, address, "", "Origin", origin,
			"Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "content-type")
		if got := h.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("a page of %s is answered for %q; want %q", origin, got, want)
		}
	}
	status, h, _ := request(t, http.MethodPut, address, "the film", "Content-Type", "video/mp4", "Origin", "https://www.example.com")
	if status != http.StatusOK || h.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(strings.ToLower(h.Get("Access-Control-Expose-Headers")), "etag") {
		t.Errorf("PUT from a page = %d with %v", status, h)
	}
}

func TestDocumentedURLsAreGood(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, piece := range strings.FieldsFunc(string(text), func(c rune) bool { return strings.ContainsRune("`'\n ", c) }) {
		if !strings.HasPrefix(piece, "s3://") {
			continue
		}
		found++
		if err := s3.CheckURL(strings.ReplaceAll(piece, "=URL", "=https://example.com")); err != nil {
			t.Errorf("%s in the guide: %v", piece, err)
		}
	}
	if found < 6 {
		t.Errorf("the guide shows only %d URLs", found)
	}
}
