package s3

import (
	"context"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
)

// List reads pages of up to a thousand objects.
func (s *rawStore) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		pages := sdk.NewListObjectsV2Paginator(s.client, &sdk.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.fullKey(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(blob.Info{}, explain(err))
				return
			}
			for _, o := range page.Contents {
				if !yield(describe(s.keyOf(o.Key), aws.ToInt64(o.Size), o.ETag, o.LastModified), nil) {
					return
				}
			}
		}
	}
}

// keyOf returns the key of an object in the bucket. For objects that are not ours, such as the
// folders that some consoles make, it is not a good key. For one outside the prefix, which a server
// that ignores prefixes may list, it is empty: taken for ours, it could be removed.
func (s *rawStore) keyOf(full *string) string {
	key, ours := strings.CutPrefix(aws.ToString(full), s.prefix)
	if !ours {
		return ""
	}
	return key
}
