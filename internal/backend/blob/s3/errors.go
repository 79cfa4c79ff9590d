package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spool-video/spool/internal/backend/blob"
)

// codeOf returns the S3 code of an error, such as NoSuchKey, or "" if it does not come
// from a server.
func codeOf(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

// explain gives an error the meaning it has in the contract. A missing bucket is
// not a missing object: taken for one, a misspelt name would look like the loss
// of everything.
func explain(err error) error {
	var meaning error
	switch code := codeOf(err); {
	case code == "NoSuchKey":
		meaning = fs.ErrNotExist
	case code == "PreconditionFailed", statusOf(err) == http.StatusPreconditionFailed:
		meaning = blob.ErrChanged
	case code == "QuotaExceeded", code == "XMinioStorageFull", statusOf(err) == http.StatusInsufficientStorage:
		meaning = blob.ErrFull
	default:
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

// reasons tell an operator what is wrong when the server returns one of these codes.
var reasons = map[string]string{
	"NoSuchBucket":                 "there is no such bucket",
	"InvalidAccessKeyId":           "the access key in AWS_ACCESS_KEY_ID is not known to the server",
	"XAdminUserNotFound":           "the access key in AWS_ACCESS_KEY_ID is not known to the server", // of versitygw
	"SignatureDoesNotMatch":        "the secret key in AWS_SECRET_ACCESS_KEY is wrong, or a proxy changes the requests",
	"ExpiredToken":                 "the credentials have expired",
	"InvalidToken":                 "the session token in AWS_SESSION_TOKEN is wrong",
	"AccessDenied":                 "the credentials are not allowed to list the bucket",
	"AllAccessDisabled":            "all access to the bucket is disabled",
	"RequestTimeTooSkewed":         "the clock of this machine is wrong",
	"PermanentRedirect":            "the bucket is in another region, or at another endpoint",
	"AuthorizationHeaderMalformed": "the region is wrong",
	"IllegalLocationConstraint":    "the region is wrong",
	"InvalidBucketName":            "that cannot be the name of a bucket",
}

// diagnose says why the bucket cannot be used.
func diagnose(err error) string {
	if reason, ok := reasons[codeOf(err)]; ok {
		return reason
	}
	switch status := statusOf(err); {
	case status == http.StatusMovedPermanently:
		return reasons["PermanentRedirect"]
	case status >= 500:
		return "the server has an internal error"
	case status != 0:
		return "the server refused, or does not speak S3"
	}
	if _, silent := errors.AsType[*idleError](err); silent || errors.Is(err, context.DeadlineExceeded) {
		return "the server does not answer: is the endpoint right, and does a firewall let us through?"
	}
	if _, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return "the server cannot be reached"
	}
	return "the bucket cannot be used"
}
