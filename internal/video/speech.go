package video

import (
	"fmt"
	"slices"
	"time"
)

// Sources of captions that programs of the operator have made.
const (
	FromSpeech FileSource = "speech"     // of what is said
	Translated FileSource = "translated" // of other captions
)

// Failures of these programs. None fails its video.
const (
	NoSound      FailureCode = "no_sound"
	NoProgram    FailureCode = "no_program"    // the server has none
	ProgramError FailureCode = "program_error" // it failed, or what it wrote is no captions
	NoCaptions   FailureCode = "no_captions"   // there is nothing to translate
)

// MaxTranslations is how many translations of a video may be asked for.
const MaxTranslations = 20

// Transcribe is what a client asks of a transcription. The zero value refuses one.
type Transcribe struct {
	Wanted   bool
	Language string `json:",omitempty"` // "": the program finds it out
}

// Speech is what was asked of the programs that write down and translate what is said in a video.
type Speech struct {
	Transcription *MadeText  `json:"transcription,omitempty"`
	Translations  []MadeText `json:"translations,omitempty"`
}

// MadeText is a text that a program makes.
type MadeText struct {
	Language string   `json:"language,omitempty"` // "": not known yet
	From     string   `json:"from,omitempty"`     // the language that it is translated from; "": the language of the transcription
	Status   Status   `json:"status"`             // processing, ready or fail
	Failure  *Failure `json:"failure,omitempty"`
}

// IsOpen reports whether anything is still to be made.
func (s *Speech) IsOpen() bool {
	_, _, open := s.Next()
	return open
}

// Next returns what is to be made next: the transcription, or the translation with a number.
func (s *Speech) Next() (m MadeText, translation int, open bool) {
	if s == nil {
		return m, -1, false
	}
	if t := s.Transcription; t != nil && t.Status == Processing {
		return *t, -1, true
	}
	i := slices.IndexFunc(s.Translations, func(t MadeText) bool { return t.Status == Processing })
	if i < 0 {
		return m, -1, false
	}
	return s.Translations[i], i, true
}

// With returns the same with one text changed: the transcription for -1, else the translation with a number.
func (s Speech) With(translation int, m MadeText) *Speech {
	if translation < 0 {
		s.Transcription = &m
		return &s
	}
	s.Translations = slices.Clone(s.Translations)
	s.Translations[translation] = m
	return &s
}

// AddTranslations returns the same with translations that are to be made. One in the same language is made again.
func (s Speech) AddTranslations(from string, to []string) (*Speech, error) {
	s.Translations = slices.Clone(s.Translations)
	for _, language := range to {
		s.Translations = slices.DeleteFunc(s.Translations, func(m MadeText) bool { return m.Language == language })
		s.Translations = append(s.Translations, MadeText{Language: language, From: from, Status: Processing})
	}
	if len(s.Translations) > MaxTranslations {
		return nil, &Error{Kind: Conflict, Code: "limit_reached", Msg: fmt.Sprintf("A video has at most %d translations.", MaxTranslations)}
	}
	return &s, nil
}

// Again returns the same with everything to be made again, for another file. It is nil if nothing was asked for.
func (s *Speech) Again() *Speech {
	if s == nil {
		return nil
	}
	var again Speech
	if t := s.Transcription; t != nil {
		again.Transcription = &MadeText{Status: Processing, Language: t.Language}
	}
	for _, t := range s.Translations {
		again.Translations = append(again.Translations, MadeText{Language: t.Language, From: t.From, Status: Processing})
	}
	return &again
}

// SpeechBytes is at most how large the sound of so much of a video is for a program that writes down what is said: 16 kHz,
// one channel, 16 bits.
func SpeechBytes(length time.Duration) int64 {
	const second = 2 * 16_000
	return int64(length.Seconds()*second) + 1<<20
}
