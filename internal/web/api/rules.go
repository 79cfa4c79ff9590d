package api

import "github.com/spool-video/spool/internal/video"

// VideoRules is how a video is organised, in all views of it.
type VideoRules struct {
	Tags []string `json:"tags" nullable:"false" doc:"In the order of the client."`
}

func viewVideoRules(v video.Video) VideoRules {
	return VideoRules{Tags: append([]string{}, v.Tags...)} // never null
}
