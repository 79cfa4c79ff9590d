package video_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// Every legal step is written down here a second time, so that a change of the
// table in the code has to be meant.
func TestCanBecome(t *testing.T) {
	t.Parallel()
	type step struct{ from, to video.Status }
	why := map[step]string{
		{video.PendingUpload, video.Processing}: "the upload was accepted",
		{video.PendingUpload, video.Fail}:       "the upload was refused",
		{video.Processing, video.Ready}:         "the work is done",
		{video.Processing, video.Fail}:          "the work cannot be done",
		{video.Ready, video.Processing}:         "another resolution was asked for",
		{video.Fail, video.Processing}:          "a better file was uploaded, or it is tried again",
		{video.Fail, video.Fail}:                "the next file was refused, too",
		{video.Fail, video.PendingUpload}:       "its file is fetched again",
	}
	for _, from := range allStatuses {
		for _, to := range allStatuses {
			reason, legal := why[step{from, to}]
			if got := from.CanBecome(to); got != legal {
				t.Errorf("%s.CanBecome(%s) = %t, want %t (%s)", from, to, got, legal, reason)
			}
		}
	}
}

// allStatuses holds the words of the public interface, and two that are not.
var allStatuses = []video.Status{"pending_upload", "processing", "ready", "fail", "", "deleted"}

func TestStatusesAreThoseOfTheInterface(t *testing.T) {
	t.Parallel()
	if want := allStatuses[:4]; !slices.Equal(video.Statuses, want) {
		t.Errorf("Statuses = %q, want %q", video.Statuses, want)
	}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		to   video.Status
		want []video.Status
	}{
		{video.PendingUpload, []video.Status{video.Fail}},
		{video.Processing, []video.Status{video.PendingUpload, video.Ready, video.Fail}},
		{video.Ready, []video.Status{video.Processing}},
		{video.Fail, []video.Status{video.PendingUpload, video.Processing, video.Fail}},
		{"deleted", nil},
	}
	for _, tt := range tests {
		if got := video.Before(tt.to); !slices.Equal(got, tt.want) {
			t.Errorf("Before(%s) = %q, want %q", tt.to, got, tt.want)
		}
	}
}

func TestFinished(t *testing.T) {
	t.Parallel()
	want := map[video.Status]bool{video.Ready: true, video.Fail: true}
	for _, s := range allStatuses {
		if got := s.Finished(); got != want[s] {
			t.Errorf("%q.Finished() = %t, want %t", s, got, want[s])
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	const pending, processing, ready, fail = video.PendingUpload, video.Processing, video.Ready, video.Fail
	tests := []struct {
		name        string
		was         video.Status
		resolutions []video.Status
		want        video.Status
	}{
		{"a new video waits for its file", pending, []video.Status{pending, pending}, pending},
		{"an accepted video is worked on", pending, []video.Status{processing, processing}, processing},
		{"one unfinished resolution after a ready one", processing, []video.Status{ready, processing}, processing},
		{"one unfinished resolution before a ready one", processing, []video.Status{processing, ready}, processing},
		{"one unfinished resolution beside a failed one", processing, []video.Status{fail, processing}, processing},
		{"one unfinished among all sorts", processing, []video.Status{fail, ready, processing, fail}, processing},
		{"all are ready", processing, []video.Status{ready, ready}, ready},
		{"ready comes first, fail last", processing, []video.Status{ready, fail}, ready},
		{"fail comes first, ready last", processing, []video.Status{fail, ready}, ready},
		{"all failed", processing, []video.Status{fail, fail}, fail},
		{"a single ready one", processing, []video.Status{ready}, ready},
		{"a single failed one", processing, []video.Status{fail}, fail},
		{"the resolutions count, not what was before", fail, []video.Status{ready}, ready},
		{"none is left of a ready video", ready, nil, ready},
		{"none is left of a failed video", fail, nil, fail},
		{"none is left before the upload", pending, nil, pending},
		{"none is left in the middle of the work", processing, nil, fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := video.Summarize(tt.was, resolutions(tt.resolutions...)); got != tt.want {
				t.Errorf("Summarize(%s, %q) = %s, want %s", tt.was, tt.resolutions, got, tt.want)
			}
		})
	}
}

// A summary never claims an end while work is open, nor work when all is at its
// end, whatever three resolutions look like.
func TestSummarizeOfEveryTriple(t *testing.T) {
	t.Parallel()
	for i := range 64 {
		triple := []video.Status{video.Statuses[i%4], video.Statuses[i/4%4], video.Statuses[i/16]}
		got := video.Summarize(video.Processing, resolutions(triple...))
		open := slices.ContainsFunc(triple, func(s video.Status) bool { return !s.Finished() })
		if got.Finished() == open {
			t.Errorf("Summarize(%q) = %s, some are unfinished: %t", triple, got, open)
		}
		if playable := slices.Contains(triple, video.Ready); !open && (got == video.Ready) != playable {
			t.Errorf("Summarize(%q) = %s, some are ready: %t", triple, got, playable)
		}
	}
}

func resolutions(statuses ...video.Status) []video.Resolution {
	var all []video.Resolution
	for i, s := range statuses {
		all = append(all, video.Resolution{Name: video.Names[i], ID: video.ResolutionID(fmt.Sprint(i)), Status: s})
	}
	return all
}
