package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/spool-video/spool/internal/backend/clock"
)

const (
	// maxTries is how often a request is sent before it fails.
	maxTries = 5

	// slowTimeout is the idle timeout of a request to copy an object or to put parts
	// together. Some servers move every byte before they send the first of their response.
	slowTimeout = 15 * time.Minute

	dialTimeout = 10 * time.Second
	// idleConns is how many connections are kept for the next parallel parts and readers.
	idleConns = 64
)

// connect creates the clients.
func (s *rawStore) connect(ctx context.Context, at address, opts Options) error {
	cfg, err := loadConfig(ctx, at, opts)
	if err != nil {
		return err
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return fmt.Errorf("%s: there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", at, err)
	}
	server := &clock.Clock{Local: opts.Now}
	client := dateClient{client: httpClient(cfg, opts), clock: server}
	s.client = sdk.NewFromConfig(cfg, func(o *sdk.Options) {
		o.UsePathStyle = at.pathStyle
		o.HTTPClient = idleTimeout{client: client, limit: opts.IdleTimeout}
		if at.endpoint != "" {
			o.BaseEndpoint = &at.endpoint
		}
	})
	s.slow = func(o *sdk.Options) {
		o.HTTPClient = idleTimeout{client: client, limit: max(slowTimeout, opts.IdleTimeout)}
	}
	s.presign = sdk.NewPresignClient(s.client, func(o *sdk.PresignOptions) {
		o.Presigner = newPresigner(server)
		if at.publicEndpoint != "" {
			o.ClientOptions = append(o.ClientOptions, func(o *sdk.Options) { o.BaseEndpoint = &at.publicEndpoint })
		}
	})
	return nil
}

// loadConfig reads the usual AWS_* variables and files.
func loadConfig(ctx context.Context, at address, opts Options) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		// Some servers refuse the newer checksums that the SDK sends by default.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
		config.WithLogger(logging.Nop{}), // what matters is in the errors
		config.WithRetryer(func() aws.Retryer { return retryer(opts.MaxBackoff) }),
	)
	if err != nil {
		return aws.Config{}, fmt.Errorf("read the AWS_* settings: %w", err)
	}
	if opts.Credentials != nil {
		cfg.Credentials = aws.NewCredentialsCache(opts.Credentials)
	}
	switch {
	case at.region != "":
		cfg.Region = at.region
	case cfg.Region == "" && at.endpoint != "":
		cfg.Region = "us-east-1" // what servers without regions expect
	case cfg.Region == "":
		return aws.Config{}, errors.New("the region of the bucket is not known: add ?region= to the storage URL, or set AWS_REGION")
	}
	return cfg, nil
}

func retryer(maxBackoff time.Duration) aws.Retryer {
	pauses := backoff{max: maxBackoff}
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxTries
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(isTruncated), retry.RetryableErrorCode{Codes: transientCodes})
		o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
			return pauses.delay(attempt), nil
		})
	})
}

// transientCodes are errors beside Amazon's that the next try may not meet: versitygw
// returns this one when a deletion removed the folder that it was just writing to.
var transientCodes = map[string]struct{}{"ExistingObjectIsDirectory": {}}

// isTruncated reports whether a response arrived in part only. All our requests may
// be sent twice.
func isTruncated(err error) aws.Ternary {
	_, unreadable := errors.AsType[*smithy.DeserializationError](err)
	if unreadable || errors.Is(err, io.ErrUnexpectedEOF) {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
}

// httpClient keeps what the configuration says about certificates (AWS_CA_BUNDLE).
func httpClient(cfg aws.Config, opts Options) sdk.HTTPClient {
	base, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		base = awshttp.NewBuildableClient()
	}
	return base.
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConns, t.MaxIdleConnsPerHost = 2*idleConns, idleConns
			if opts.dial != nil {
				t.DialContext = opts.dial
			}
		})
}
