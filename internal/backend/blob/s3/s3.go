package s3

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
)

// MaxPut is the largest object that clients can upload with one request.
const MaxPut = 5 << 30

// MaxObject is the largest object that S3 keeps.
const MaxObject = 5 << 40

const (
	mib = 1 << 20

	// minPart and maxParts are limits of S3 for the parts of one object.
	minPart  = 5 * mib
	maxParts = 10_000

	// defaultPart allows an object of unknown length to grow to 156 GiB.
	defaultPart = 16 * mib

	// maxCopy is the largest object that S3 copies with one request.
	maxCopy = MaxPut
	// copyPart is the size of the parts in which larger ones are copied.
	copyPart = 512 * mib
)

// Options are optional settings of a Store. The zero value is good.
type Options struct {
	// Credentials sign the requests; nil takes them from the usual AWS_*
	// variables, files and roles.
	Credentials aws.CredentialsProvider
	// PartSize is the size of the parts of large objects, at least 5 MiB; 0 means
	// 16 MiB. A Put holds up to three parts in memory.
	PartSize int64
	// IdleTimeout ends a request on which no byte moves for so long, so that it is
	// tried again; 0 means 30 seconds.
	IdleTimeout time.Duration
	// MaxBackoff is the longest pause between two tries; 0 means 5 seconds.
	MaxBackoff time.Duration
	// Now is the clock of this machine; nil means time.Now.
	Now func() time.Time

	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: the default dialer
}

// Store is a blob.Store in a bucket. Several processes may use one bucket and
// prefix at the same time.
type Store struct {
	blob.Checked
	raw *rawStore
}

// rawStore implements blob.Store and blob.Presigner for keys that were checked.
type rawStore struct {
	bucket string
	prefix string // empty, or ends with a slash
	where  string // the bucket and its endpoint, for error messages

	client  *sdk.Client
	slow    func(*sdk.Options) // for requests that a server may take minutes to answer
	presign *sdk.PresignClient // for URLs that clients outside can reach
	backoff backoff
	now     func() time.Time

	partSize int64
	maxWhole int64     // larger files are sent in parts
	buffers  sync.Pool // of *[]byte, partSize long
	maxCopy  int64
	copyPart int64
}

// Open returns the store at a URL like
//
//	s3://bucket/prefix?region=eu-central-1
//	s3://bucket?endpoint=http://minio:9000&public_endpoint=https://files.example.com&path_style=true
//
// and checks that the bucket can be used. The error says what is wrong.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	at, err := parse(url)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	if opts.PartSize < minPart {
		return nil, fmt.Errorf("parts of %d bytes are too small: S3 requires at least %d", opts.PartSize, minPart)
	}
	s := &rawStore{
		bucket: at.bucket, prefix: at.prefix, where: at.String(),
		backoff: backoff{max: opts.MaxBackoff}, now: opts.Now,
		partSize: opts.PartSize, maxWhole: singleParts * opts.PartSize, maxCopy: maxCopy, copyPart: copyPart,
	}
	s.buffers.New = func() any { b := make([]byte, s.partSize); return &b }
	if err := s.connect(ctx, at, opts); err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, err
	}
	return &Store{blob.NewChecked(s), s}, nil
}

func (o Options) withDefaults() Options {
	if o.PartSize == 0 {
		o.PartSize = defaultPart
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 30 * time.Second
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Ping lists at most one object. Unlike the response to a HEAD of the bucket, the
// refusal of a list has a body that says why.
func (s *rawStore) Ping(ctx context.Context) error {
	_, err := s.client.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{
		Bucket: &s.bucket, Prefix: &s.prefix, MaxKeys: aws.Int32(1),
	})
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.where, diagnose(err), err)
	}
	return nil
}

// Capabilities says that clients can use the bucket directly.
func (s *rawStore) Capabilities() blob.Capabilities { return blob.Capabilities{Presign: s} }

// fullKey returns the key in the bucket.
func (s *rawStore) fullKey(key string) *string { return aws.String(s.prefix + key) }

// describe makes an Info from what the server says about an object.
func describe(key string, size int64, etag *string, modified *time.Time) blob.Info {
	return blob.Info{Key: key, Size: size, ETag: unquote(etag), Modified: aws.ToTime(modified)}
}

// unquote returns the bare ETag. Some proxies mark the ETags of a server as weak, which
// the server itself would not recognize.
func unquote(etag *string) string {
	return strings.Trim(strings.TrimPrefix(aws.ToString(etag), "W/"), `"`)
}

// quoted returns an ETag as a condition, or no condition for an empty one.
func quoted(etag string) *string {
	if etag == "" {
		return nil
	}
	return aws.String(`"` + etag + `"`)
}
