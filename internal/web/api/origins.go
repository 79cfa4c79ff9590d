package api

import "github.com/spool-video/spool/internal/video"

// VideoOrigins is the part of a read that says on which sites the video may be played.
type VideoOrigins struct {
	AllowedOrigins []string `json:"allowedOrigins,omitzero" nullable:"false" doc:"The sites on which the video may be played. Absent: everywhere. Empty: only in the pages of this server."`
	AllowNoOrigin  bool     `json:"allowNoOrigin,omitempty" doc:"Requests that name no site may play it, too."`
}

func viewVideoOrigins(v video.Video) VideoOrigins {
	return VideoOrigins{AllowedOrigins: v.AllowedOrigins, AllowNoOrigin: v.AllowNoOrigin}
}
