package api

import "github.com/spool-video/spool/internal/service/words"

// matchView is a place in a video where words are said.
type matchView struct {
	Language     string  `json:"language" doc:"Of the captions (BCP 47)." example:"en"`
	StartSeconds float64 `json:"startSeconds"`
	EndSeconds   float64 `json:"endSeconds"`
	Text         string  `json:"text" doc:"What is said there: one cue, or a few."`
}

func viewMatches(all []words.Match) []matchView {
	var out []matchView
	for _, m := range all {
		out = append(out, matchView{Language: m.Language, StartSeconds: m.Start.Seconds(), EndSeconds: m.End.Seconds(), Text: m.Text})
	}
	return out
}
