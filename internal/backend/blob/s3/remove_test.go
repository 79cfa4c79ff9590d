package s3_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/blobtest"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// refuse answers a deletion as S3 does when it could not delete one object.
func refuse(key, code string) spoiler {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "<DeleteResult><Error><Key>%s</Key><Code>%s</Code><Message>spoilt</Message></Error></DeleteResult>", key, code)
	}
}

// keepOne answers a deletion of several objects as S3 does when one of them is locked: the others
// are removed.
func keepOne(t *testing.T, server *s3test.Server, bucket, stuck string) spoiler {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		var asked struct {
			Object []struct{ Key string }
		}
		if err := xml.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Errorf("the request of a deletion: %v", err)
		}
		for _, o := range asked.Object {
			if o.Key == stuck {
				continue
			}
			if _, err := server.Client().DeleteObject(r.Context(), &sdk.DeleteObjectInput{Bucket: &bucket, Key: &o.Key}); err != nil {
				t.Errorf("delete %s: %v", o.Key, err)
			}
		}
		fmt.Fprintf(w, "<DeleteResult><Error><Key>%s</Key><Code>AccessDenied</Code><Message>locked</Message></Error></DeleteResult>", stuck)
	}
}

func TestDeleteTriesAllKeys(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	p := newProxy(t, server)
	s := open(t, server, through(p, server.URL(bucket, "spool"), server))
	put(t, s, "stuck/key", []byte("x"))
	p.spoilWith(always("delete", keepOne(t, server, bucket, "spool/stuck/key")))
	blobtest.DeleteTriesAll(t, s, "stuck/key")
}

// A request that fails as a whole does not keep the next from being sent.
func TestDeleteTriesAllRequests(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	put(t, s, "last", []byte("x"))
	keys := make([]string, 1000, 1001)
	for i := range keys {
		keys[i] = fmt.Sprintf("many/%04d", i)
	}
	p.spoilWith(first("delete", 1, answer(http.StatusForbidden, "AccessDenied")))
	if err := s.Delete(t.Context(), append(keys, "last")...); err == nil {
		t.Error("Delete succeeded although a thousand objects were not removed")
	}
	wantNoObject(t, s, "last")
}

func TestDeleteReportsWhatItCouldNotRemove(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	p.spoilWith(always("delete", refuse("spool/a/2", "AccessDenied")))
	err := s.Delete(t.Context(), "a/1", "a/2")
	if err == nil || !strings.Contains(err.Error(), "a/2") || !strings.Contains(err.Error(), "AccessDenied") || strings.Contains(err.Error(), "spool/") {
		t.Errorf("Delete = %v; want an error that names a/2 and the reason", err)
	}
	if n := p.counted()["delete"]; n != 1 {
		t.Errorf("a refusal was asked for %d times", n)
	}
}

func TestDeleteTriesAgainWhatTheServerFailedToRemove(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	put(t, s, "a/1", []byte("x"))
	p.spoilWith(first("delete", 2, refuse("spool/a/1", "InternalError")))
	if err := s.Delete(t.Context(), "a/1"); err != nil {
		t.Errorf("Delete = %v", err)
	}
	wantNoObject(t, s, "a/1")

	p.spoilWith(always("delete", refuse("spool/a/1", "InternalError")))
	if err := s.Delete(t.Context(), "a/1"); err == nil {
		t.Error("Delete succeeded although the server never removed anything")
	}
}

// Many servers refuse a deletion without the MD5 of its body, and do not know
// the SDK's own checksums.
func TestDeleteSendsTheMD5AndNoOtherChecksum(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	var fault string
	p.spoilWith(always("delete", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body, _ := io.ReadAll(r.Body)
		sum := md5.Sum(body)
		if want := base64.StdEncoding.EncodeToString(sum[:]); r.Header.Get("Content-Md5") != want {
			fault = "Content-MD5 is " + r.Header.Get("Content-Md5") + " instead of " + want
		}
		for name := range r.Header {
			if strings.Contains(strings.ToLower(name), "checksum") {
				fault = "it has the header " + name
			}
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	}))
	put(t, s, "key", []byte("x"))
	if err := s.Delete(t.Context(), "key"); err != nil {
		t.Errorf("Delete = %v", err)
	}
	wantNoObject(t, s, "key")
	if fault != "" {
		t.Errorf("the request is wrong: %s", fault)
	}
}

// Taken for a missing object, a bucket that is gone would look like the loss of
// everything in it.
func TestMissingBucketIsNotAMissingObject(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, bucket := inBucket(t, server)
	if _, err := server.Client().DeleteBucket(t.Context(), &sdk.DeleteBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	_, errStat := s.Stat(t.Context(), "key")
	_, errOpen := s.Open(t.Context(), "key")
	_, errCopy := s.Copy(t.Context(), "key", "to", "")
	for name, err := range map[string]error{"Stat": errStat, "Open": errOpen, "Copy": errCopy, "Fetch": s.Fetch(t.Context(), "key", "", t.TempDir()+"/file")} {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s = %v; want an error that is not fs.ErrNotExist", name, err)
		}
	}
}

func TestFullStorageIsTold(t *testing.T) {
	t.Parallel()
	s, p := behind(t, s3test.Start(t))
	for _, spoil := range []spoiler{answer(http.StatusForbidden, "QuotaExceeded"), answer(http.StatusInsufficientStorage, "XMinioStorageFull")} {
		p.spoilWith(always("put", spoil))
		if _, err := s.Put(t.Context(), "key", strings.NewReader("x")); !errors.Is(err, blob.ErrFull) {
			t.Errorf("Put = %v; want ErrFull", err)
		}
	}
}

func TestListPassesOverWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	s, bucket := inBucket(t, server)
	put(t, s, "a/1", []byte("x"))
	for _, key := range []string{"spool/folder/", "spool/with space", "spool/.hidden", "spool2/x", "x"} {
		if _, err := server.Client().PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("")}); err != nil {
			t.Fatalf("PutObject(%q) = %v", key, err)
		}
	}
	var got []string
	for info, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Key)
	}
	if len(got) != 1 || got[0] != "a/1" {
		t.Errorf("List yields %q; want a/1 only", got)
	}
}

func TestListOfMoreThanAPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 1100 objects")
	}
	server := s3test.Start(t)
	bucket, p := server.Bucket(t), newProxy(t, server)
	s := open(t, server, through(p, server.URL(bucket, "spool"), server))
	put(t, s, "many/0000", nil)
	want := map[string]bool{"many/0000": true}
	for i := range 1099 {
		key := fmt.Sprintf("many/%04d", i+1)
		if server.Program == "versitygw" { // its objects are files, which are made in no time
			path := filepath.Join(server.Dir, bucket, "spool", key)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, s, key, nil)
		}
		want[key] = true
	}
	p.reset()
	for info, err := range s.List(t.Context(), "many/") {
		if err != nil {
			t.Fatal(err)
		}
		delete(want, info.Key)
	}
	if len(want) != 0 || p.counted()["list"] != 2 {
		t.Errorf("List left out %d objects in %d requests; want none in 2", len(want), p.counted()["list"])
	}
}
