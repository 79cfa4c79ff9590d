// Command tones is a transcriber for tests. Instead of words it hears tones: it writes down the pitch of each second of a WAV
// file, as "tone 440". Called with a language it also translates: each text is followed by the language.
//
//	tones transcribe AUDIO OUTPUT
//	tones translate INPUT OUTPUT LANGUAGE
//	tones fail | wait | flood OUTPUT | nonsense OUTPUT | snoop OUTPUT PATH
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

const rate = 16_000

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tones:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch strings.Join(args[:1], "") {
	case "transcribe":
		return transcribe(args[1], args[2])
	case "translate":
		return translate(args[1], args[2], args[3])
	case "wait":
		time.Sleep(time.Hour)
	case "flood":
		return os.WriteFile(args[1], bytes.Repeat([]byte("00:00.000 --> 00:01.000\nx\n\n"), 1<<20), 0o600)
	case "nonsense":
		return os.WriteFile(args[1], []byte("no captions at all"), 0o600)
	case "snoop": // what it may not read it cannot write down
		text, err := os.ReadFile(args[2])
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], []byte("WEBVTT\n\n00:00.000 --> 00:01.000\n"+string(text)+"\n"), 0o600)
	}
	return errors.New("this is meant to fail")
}

func transcribe(audio, output string) error {
	samples, err := readWAV(audio)
	if err != nil {
		return err
	}
	out := "WEBVTT\nLanguage: en\n"
	for second := 0; (second+1)*rate <= len(samples); second++ {
		if hz := pitch(samples[second*rate : (second+1)*rate]); hz > 0 {
			out += fmt.Sprintf("\n%s --> %s\ntone %d\n", stamp(second), stamp(second+1), hz)
		}
	}
	return os.WriteFile(output, []byte(out), 0o600)
}

// readWAV reads 16 kHz, one channel, 16 bits.
func readWAV(path string) ([]int16, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	at := bytes.Index(b, []byte("data"))
	if at < 0 || len(b) < 36 || !bytes.HasPrefix(b, []byte("RIFF")) || binary.LittleEndian.Uint16(b[22:]) != 1 || binary.LittleEndian.Uint32(b[24:]) != rate || binary.LittleEndian.Uint16(b[34:]) != 16 {
		return nil, errors.New("no WAV of 16 kHz, one channel, 16 bits")
	}
	samples := make([]int16, (len(b)-at-8)/2)
	return samples, binary.Read(bytes.NewReader(b[at+8:]), binary.LittleEndian, samples)
}

// pitch returns the pitch of a second of sound, in steps of ten; 0: silence.
func pitch(samples []int16) int {
	crossings, sum := 0, 0.0
	for i := 1; i < len(samples); i++ {
		if samples[i-1] < 0 && samples[i] >= 0 {
			crossings++
		}
		sum += math.Abs(float64(samples[i]))
	}
	if sum/float64(len(samples)) < 1000 { // an encoder leaves a little in the silence
		return 0
	}
	return (crossings + 5) / 10 * 10
}

func stamp(second int) string {
	return fmt.Sprintf("%02d:%02d:%02d.000", second/3600, second/60%60, second%60)
}

func translate(input, output, language string) error {
	b, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for i, line := range lines {
		if line != "" && line != "WEBVTT" && !strings.Contains(line, "-->") {
			lines[i] = line + " in " + language
		}
	}
	return os.WriteFile(output, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}
