package s3

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/backend/blob"
)

// address is a parsed storage URL.
type address struct {
	bucket         string
	prefix         string // empty, or ends with a slash
	region         string // empty: from AWS_REGION
	endpoint       string // empty: Amazon's for the region
	publicEndpoint string // where clients reach the same bucket; empty: at endpoint
	pathStyle      bool
}

// maxPrefix leaves room for the longest key within the 1024 bytes that S3 allows.
const maxPrefix = 1024 - blob.MaxKey - len("/")

// bucketName accepts a little more than Amazon's rule, as other servers do.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`)

// parameters are all that a storage URL can have. A misspelt one is an error.
var parameters = []string{"region", "endpoint", "public_endpoint", "path_style"}

// CheckURL reports what is wrong with a storage URL. It sends no request.
func CheckURL(raw string) error {
	_, err := parse(raw)
	return err
}

// parse parses a storage URL. Its errors do not repeat the URL, because people put
// secrets into it.
func parse(raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return address{}, errors.New("the storage URL cannot be parsed") // the error may hold a part of a password
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return address{}, fmt.Errorf("the parameters of the storage URL cannot be parsed: %w", err)
	}
	at := address{bucket: u.Host, region: query.Get("region"), endpoint: query.Get("endpoint"), publicEndpoint: query.Get("public_endpoint")}
	if err := errors.Join(checkForm(u), checkParameters(query)); err != nil {
		return address{}, err
	}
	if at.prefix, err = parsePrefix(u.Path); err != nil {
		return address{}, err
	}
	if at.pathStyle, err = parsePathStyle(query.Get("path_style"), at.endpoint); err != nil {
		return address{}, err
	}
	return at, nil
}

// String names the bucket in messages.
func (a address) String() string {
	s := "s3://" + a.bucket
	if a.prefix != "" {
		s += "/" + strings.TrimSuffix(a.prefix, "/")
	}
	if a.endpoint != "" {
		s += " at " + a.endpoint
	}
	return s
}

func checkForm(u *url.URL) error {
	switch {
	case u.Scheme != "s3":
		return errors.New("a storage URL starts with s3://")
	case u.User != nil:
		return errors.New("credentials do not belong in the storage URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Fragment != "":
		return errors.New("the storage URL has a # in it")
	case !bucketName.MatchString(u.Host):
		return fmt.Errorf("%q cannot be the name of a bucket: write s3://bucket/prefix, and the server as ?endpoint=", u.Host)
	}
	return nil
}

func checkParameters(query url.Values) error {
	for name, values := range query {
		if !slices.Contains(parameters, name) {
			return fmt.Errorf("the storage URL has an unknown parameter %q; it can have %s", name, strings.Join(parameters, ", "))
		}
		if len(values) > 1 {
			return fmt.Errorf("the storage URL has the parameter %s twice", name)
		}
	}
	return errors.Join(checkEndpoint("endpoint", query.Get("endpoint")), checkEndpoint("public_endpoint", query.Get("public_endpoint")))
}

func checkEndpoint(name, raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%s of the storage URL cannot be parsed", name)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s of the storage URL must be a URL like https://s3.example.com", name)
	}
	return nil
}

func parsePrefix(path string) (string, error) {
	prefix := strings.Trim(path, "/")
	if prefix == "" {
		return "", nil
	}
	if err := blob.CheckKey(prefix); err != nil {
		return "", fmt.Errorf("the prefix in the storage URL cannot start a key: %w", err)
	}
	if len(prefix) > maxPrefix {
		return "", fmt.Errorf("the prefix in the storage URL has %d bytes, more than %d", len(prefix), maxPrefix)
	}
	return prefix + "/", nil
}

// parsePathStyle defaults to true for servers other than Amazon's: few of them have
// a DNS name for each bucket.
func parsePathStyle(raw, endpoint string) (bool, error) {
	if raw == "" {
		return endpoint != "", nil
	}
	style, err := strconv.ParseBool(raw)
	if err != nil {
		return false, errors.New("path_style of the storage URL must be true or false")
	}
	return style, nil
}

// withoutURL removes the URL from an error about it.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
