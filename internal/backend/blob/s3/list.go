package s3

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
)

// List asks for a thousand objects at a time.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		if !canStart(prefix) {
			return // no key starts like this
		}
		pages := sdk.NewListObjectsV2Paginator(s.client, &sdk.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.full(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(blob.Info{}, fmt.Errorf("list objects %q: %w", prefix, explain(err)))
				return
			}
			for _, o := range page.Contents {
				key, ok := s.keyOf(o.Key)
				if ok && !yield(describe(key, aws.ToInt64(o.Size), o.ETag, o.LastModified), nil) {
					return
				}
			}
		}
	}
}

// canStart reports whether there are keys that start with prefix.
func canStart(prefix string) bool {
	folder, name := "", prefix
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		folder, name = prefix[:i], prefix[i+1:]
		if blob.CheckKey(folder) != nil {
			return false
		}
	}
	return name == "" || blob.CheckKey(name) == nil
}

// keyOf returns the key of an object in the bucket. Objects that are not ours,
// such as the folders that some consoles make, have none.
func (s *Store) keyOf(full *string) (string, bool) {
	key, ok := strings.CutPrefix(aws.ToString(full), s.prefix)
	return key, ok && blob.CheckKey(key) == nil
}
