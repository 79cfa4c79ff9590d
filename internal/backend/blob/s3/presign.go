package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/clock"
)

// maxTTL is the longest time for which S3 accepts a signed URL. A URL that was signed
// with the credentials of a role expires with them, often within hours.
const maxTTL = 7 * 24 * time.Hour

// PresignPut returns a URL at the public endpoint.
func (s *rawStore) PresignPut(ctx context.Context, key, contentType string, ttl time.Duration) (string, error) {
	if err := checkTTL(ttl); err != nil {
		return "", err
	}
	if contentType == "" {
		return "", errors.New("no content type")
	}
	req, err := s.presign.PresignPutObject(ctx, &sdk.PutObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(key), ContentType: &contentType,
	}, sdk.WithPresignExpires(ttl))
	if err != nil {
		return "", err
	}
	return req.URL, nil
}

// PresignGet returns a URL at the public endpoint.
func (s *rawStore) PresignGet(ctx context.Context, key string, ttl time.Duration, disposition string) (string, error) {
	if err := checkTTL(ttl); err != nil {
		return "", err
	}
	in := &sdk.GetObjectInput{Bucket: &s.bucket, Key: s.fullKey(key)}
	if disposition != "" {
		in.ResponseContentDisposition = &disposition
	}
	req, err := s.presign.PresignGetObject(ctx, in, sdk.WithPresignExpires(ttl))
	if err != nil {
		return "", err
	}
	return req.URL, nil
}

// Origin reads the origin from a signed URL, because the bucket may be part of the host.
func (s *rawStore) Origin(ctx context.Context) (string, error) {
	signed, err := s.PresignGet(ctx, "origin", time.Second, "")
	if err != nil {
		return "", err
	}
	u, err := url.Parse(signed)
	if err != nil {
		return "", fmt.Errorf("parse a signed URL: %w", withoutURL(err))
	}
	return u.Scheme + "://" + u.Host, nil
}

func checkTTL(ttl time.Duration) error {
	if ttl < time.Second || ttl > maxTTL {
		return fmt.Errorf("a signed URL can be valid for 1s to %s, not %s", maxTTL, ttl)
	}
	return nil
}

// clockPresigner signs URLs by the clock of the server.
type clockPresigner struct {
	signer *v4.Signer
	clock  *clock.Clock
}

func newPresigner(server *clock.Clock) clockPresigner {
	return clockPresigner{v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), server} // as S3 wants it
}

// PresignHTTP implements sdk.HTTPPresignerV4.
func (p clockPresigner) PresignHTTP(ctx context.Context, by aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time,
	options ...func(*v4.SignerOptions)) (url string, signed http.Header, err error) {
	return p.signer.PresignHTTP(ctx, by, r, payloadHash, service, region, p.clock.Now(), options...)
}
