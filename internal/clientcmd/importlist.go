package clientcmd

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/client"
)

// line is a line of a list: a video that is to be made.
type line struct {
	number   int
	path     string // of the file; "": the server fetches it
	captions []string
	video    client.NewVideo
	hash     string // of all that the line says, and of the size and time of its file
}

// name is how the line is called on a terminal.
func (l line) name() string { return cmp.Or(l.path, l.video.SourceURL) }

// listed is a line as it is written: what a video is created with, and files.
type listed struct {
	client.NewVideo
	Path     string   `json:"path"`
	Captions []string `json:"captions"`
}

// metadataColumn begins the name of a column with metadata.
const metadataColumn = "metadata."

// columns say how the text of a column becomes JSON.
var columns = map[string]func(string) (any, error){
	"path": asText, "sourceUrl": asText, "title": asText, "filename": asText, "profile": asText, "hdr": asText, "copySource": asText, "loudness": asText,
	"tags": asList, "resolutions": asList, "codecs": asList, "allowedOrigins": asList, "translate": asList, "captions": asList,
	"isPublic": asBool, "upscale": asBool, "acceptAudio": asBool, "allowNoOrigin": asBool,
	"thumbnailTimestampsSeconds": asNumbers, "maxDurationSeconds": asNumber, "expiresAt": asTime,
	"transcribe": func(s string) (any, error) { return transcription(s), nil },
	"trim":       func(s string) (any, error) { return parseTrim(s) },
	"watermark":  func(s string) (any, error) { return ParseWatermark(s) },
}

// columnNames returns the names of all columns, for people.
func columnNames() []string {
	return append(slices.Sorted(maps.Keys(columns)), metadataColumn+"KEY")
}

func asText(s string) (any, error) { return s, nil }
func asTime(s string) (any, error) { return parseExpiry(s) }
func asList(s string) (any, error) {
	return withoutSpaces(strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == ',' })), nil
}

func asBool(s string) (any, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false", s)
}

func asNumbers(s string) (any, error) {
	var all []any
	for _, one := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == ',' }) {
		n, err := asNumber(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func asNumber(s string) (any, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", s)
	}
	return n, nil
}

// maxLine is the longest line of a .jsonl: metadata has at most 16 KiB.
const maxLine = 1 << 20

// maxFaults is how many faults of a list are told at once.
const maxFaults = 20

// readList reads a list and checks all of it.
func readList(file string) ([]line, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &UsageError{Text: err.Error()}
	}
	defer f.Close()
	read := map[string]func(io.Reader, func(int, []byte, error)) error{".csv": readCSV, ".jsonl": readJSONL, ".ndjson": readJSONL}[strings.ToLower(filepath.Ext(file))]
	if read == nil {
		return nil, &UsageError{Text: fmt.Sprintf("%s is neither a .csv nor a .jsonl", forTerminal(file))}
	}
	var lines []line
	var faults []string
	seen := map[string]int{}
	err = read(f, func(number int, text []byte, err error) {
		var l line
		if err == nil {
			l, err = parseLine(filepath.Dir(file), text)
		}
		if first, is := seen[l.hash]; err == nil && is {
			err = fmt.Errorf("is the same as line %d", first)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("line %d: %s", number, forTerminal(err.Error())))
			return
		}
		l.number, seen[l.hash] = number, number
		lines = append(lines, l)
	})
	switch n := len(faults); {
	case err != nil:
		return nil, &UsageError{Text: fmt.Sprintf("%s: %v", forTerminal(file), err)}
	case n > maxFaults:
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", n-maxFaults))
		fallthrough
	case n > 0:
		return nil, &UsageError{Text: "nothing was imported; mend the list first\n  - " + strings.Join(faults, "\n  - ")}
	case len(lines) == 0:
		return nil, &UsageError{Text: forTerminal(file) + " names no video"}
	}
	return lines, nil
}

// readJSONL calls line for each object.
func readJSONL(r io.Reader, line func(int, []byte, error)) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		if text := bytes.TrimSpace(s.Bytes()); len(text) > 0 {
			line(n, text, nil)
		}
	}
	return s.Err()
}

// readCSV calls line for each row, as JSON.
func readCSV(r io.Reader, line func(int, []byte, error)) error {
	rows := csv.NewReader(bufio.NewReader(r))
	names, err := rows.Read()
	if err != nil {
		return err
	}
	names[0] = strings.TrimPrefix(names[0], "\ufeff") // as some programs begin a file
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if _, is := columns[names[i]]; !is && !strings.HasPrefix(names[i], metadataColumn) {
			return fmt.Errorf("there is no column %q; there are %s", forTerminal(name), strings.Join(columnNames(), ", "))
		}
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, is := errors.AsType[*csv.ParseError](err); err != nil && (!is || len(row) == 0) {
			return err
		}
		number, _ := rows.FieldPos(0)
		text, rowErr := rowJSON(names, row)
		line(number, text, errors.Join(err, rowErr))
	}
}

// rowJSON writes a row as an object. What is empty is left out.
func rowJSON(names, row []string) ([]byte, error) {
	out, metadata := map[string]any{}, map[string]any{}
	for i, text := range row {
		if text = strings.TrimSpace(text); text == "" || i >= len(names) {
			continue
		}
		if key, is := strings.CutPrefix(names[i], metadataColumn); is {
			metadata[key] = text
			continue
		}
		value, err := columns[names[i]](text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
		out[names[i]] = value
	}
	if len(metadata) > 0 {
		out["customMetadata"] = metadata
	}
	return json.Marshal(out)
}

// parseLine reads an object and looks for its files.
func parseLine(folder string, text []byte) (line, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var in listed
	if err := decodeOne(d, &in); err != nil {
		return line{}, err
	}
	l := line{video: in.NewVideo}
	if (in.Path == "") == (in.SourceURL == "") {
		return line{}, errors.New("give either path or sourceUrl")
	}
	hash := sha256.New()
	canonical, err := json.Marshal(in)
	if err != nil {
		return line{}, err
	}
	hash.Write(canonical)
	if in.Path != "" {
		l.path = within(folder, in.Path)
		info, err := os.Stat(l.path)
		if errors.Is(err, os.ErrNotExist) {
			return line{}, fmt.Errorf("there is no file %s", l.path)
		}
		if err != nil {
			return line{}, err
		}
		if !info.Mode().IsRegular() {
			return line{}, fmt.Errorf("%s is not a regular file", in.Path)
		}
		fmt.Fprintf(hash, " %d %d", info.Size(), info.ModTime().UnixNano())
	}
	for _, file := range in.Captions {
		l.captions = append(l.captions, within(folder, file))
		if _, err := languageOf(file); err != nil {
			return line{}, err
		}
		if err := checkCaptions(within(folder, file)); err != nil {
			return line{}, err
		}
	}
	l.hash = hex.EncodeToString(hash.Sum(nil)[:16])
	return l, nil
}

// decodeOne reads one value, after which nothing may follow.
func decodeOne(d *json.Decoder, to any) error {
	if err := d.Decode(to); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows on the object")
	}
	return nil
}

// within returns a file as seen from a folder.
func within(folder, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}
