package main

import (
	"github.com/spool-video/spool/internal/engine/sandbox"
	programs "github.com/spool-video/spool/internal/engine/speech"
	"github.com/spool-video/spool/internal/language"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/video"
)

// The values of the setting transcribe that are no language.
const (
	transcribeOff = "off"
	transcribeOn  = "on"
)

// speechPrograms is how the operator's programs run.
func (c *Config) speechPrograms() programs.Config {
	return programs.Config{
		Transcriber: c.Transcriber, Translator: c.Translator, Memory: int64(c.TranscriberMemory), Timeout: c.TranscriberTimeout,
		Paths: c.TranscriberPaths, Nice: c.FFmpegNice,
	}
}

// speechFaults returns what is wrong with the settings of transcription, one sentence each. A process that runs no tasks needs
// no programs; it only says that there are some.
func (c *Config) speechFaults() []string {
	var faults []string
	if c.Transcriber+c.Translator != "" && c.runsTasks() {
		faults = programs.Check(c.speechPrograms())
	}
	if c.Transcribe == transcribeOff {
		return faults
	}
	if c.Transcriber == "" {
		faults = append(faults, "transcribe is on, and there is no transcriber: set one.")
	}
	if _, ok := language.Parse(c.Transcribe); c.Transcribe != transcribeOn && !ok {
		faults = append(faults, "transcribe must be off, on, or a language as BCP 47 names it, such as en.")
	}
	return faults
}

// openSpeech returns the operator's programs.
func (c *Config) openSpeech(box *sandbox.Sandbox) (*programs.Programs, error) {
	return programs.Open(c.speechPrograms(), box)
}

// speech says which programs there are, and what is made without being asked for.
func (c *Config) speech() speech.Config {
	s := speech.Config{Transcriber: c.Transcriber != "", Translator: c.Translator != ""}
	if c.Transcribe != transcribeOff {
		s.Default = video.Transcribe{Wanted: true, Language: c.Transcribe}
	}
	if c.Transcribe == transcribeOn {
		s.Default.Language = ""
	}
	return s
}
