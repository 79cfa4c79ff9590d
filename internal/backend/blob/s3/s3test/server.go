// Package s3test runs a real S3 server for tests: versitygw on a folder or, with
// SPOOL_TEST_S3=minio, MinIO. They check signatures, content types and conditions
// as Amazon does, which imitations in memory do not.
package s3test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/need"
)

// Server is a running server. It ends with the test that started it.
type Server struct {
	Program   string // "versitygw" or "minio"
	Endpoint  string // such as http://127.0.0.1:41234
	AccessKey string
	SecretKey string
	Dir       string // holds a folder for each bucket, with the objects as files (versitygw)
}

// Region is where the server claims to be.
const Region = "us-east-1"

// Domain is where each bucket has a host of its own, for those who Dial.
const Domain = "s3.spool.test"

// Start runs a server, or ends the test as need.Missing does when none is installed.
func Start(t testing.TB) *Server {
	t.Helper()
	server, path, err := choose()
	if err != nil {
		need.Missing(t, "%v", err)
	}
	s := &Server{Program: server.name, AccessKey: rand.Text(), SecretKey: rand.Text(), Dir: t.TempDir()}
	var last error
	for range 3 { // another process may take the port first
		if last = s.run(t, server, path); last == nil {
			return s
		}
	}
	t.Fatalf("start the S3 server: %v", last)
	return nil
}

func (s *Server) run(t testing.TB, server program, path string) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	var output bytes.Buffer
	cmd := server.command(s, path, address)
	cmd.Stdout, cmd.Stderr = &output, &output
	exited, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	stop := func() { _ = cmd.Process.Kill(); <-exited }

	s.Endpoint = "http://" + address
	if err := await(t.Context(), s.Endpoint+server.health, exited); err != nil {
		stop()
		return fmt.Errorf("%w; it said: %s", err, strings.TrimSpace(output.String()))
	}
	t.Cleanup(stop)
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await polls the server, which has no other way to say that it is ready.
func await(ctx context.Context, url string, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-exited:
			return errors.New("the server ended at once")
		case <-ctx.Done():
			return errors.New("the server did not answer")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Credentials sign requests to the server.
func (s *Server) Credentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, "")
}

// Client speaks to the server without any of our own code.
func (s *Server) Client() *sdk.Client {
	return sdk.New(sdk.Options{
		BaseEndpoint: &s.Endpoint, Region: Region, UsePathStyle: true, Credentials: s.Credentials(),
	})
}

// Bucket makes a bucket with a name of its own.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := "test-" + strings.ToLower(rand.Text())
	if _, err := s.Client().CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	return name
}

// URL is the storage URL of a prefix in a bucket of the server.
func (s *Server) URL(bucket, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?region=%s&endpoint=%s&path_style=true", bucket, prefix, Region, s.Endpoint)
}

// HostURL is the storage URL of a prefix in a bucket with a host of its own.
func (s *Server) HostURL(bucket, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?region=%s&endpoint=http://%s&path_style=false", bucket, prefix, Region, Domain)
}

// Dial connects to the server, whatever the name that it is called by.
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(s.Endpoint, "http://"))
}

// Environment are the AWS_* variables with which a program can use the server.
func (s *Server) Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.SecretKey}
}
