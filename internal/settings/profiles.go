package settings

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/spool-video/spool/internal/video"
)

// What a profile may say. A bitrate of audio is for two channels; the highest one of video is about what 8k needs.
const (
	leastAudio, mostAudio     = 32_000, 320_000
	leastBitrate, mostBitrate = 64_000, 240_000_000
	leastCRF, mostCRF         = 1, 51
	mostFPS                   = 60
)

// profileName is what profiles may be called.
var profileName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ReadProfiles reads a file of profiles and returns them by name, and what is wrong with the file, one sentence each.
func ReadProfiles(path string) ([]video.Profile, []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, []string{fmt.Sprintf("profiles_file cannot be read: %v.", err)}
	}
	r := &profileReader{path: path, lines: linesOfTables(string(text))}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		return nil, []string{fmt.Sprintf("profiles_file: %s is no TOML: %v.", path, err)}
	}
	var all []video.Profile
	for key, value := range inOrder(tree) {
		if key != "profile" {
			r.unknown([]string{key}, []string{"profile"})
			continue
		}
		named := r.table([]string{key}, value)
		for name, value := range inOrder(named) {
			all = append(all, r.profile(name, value))
		}
	}
	if len(all) == 0 && len(r.faults) == 0 {
		r.faults = append(r.faults, fmt.Sprintf("profiles_file: %s has no profile: add a table such as [profile.course].", path))
	}
	return all, r.faults
}

// inOrder returns the members of a table by their names.
func inOrder(table map[string]any) func(func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(table)) {
			if !yield(key, table[key]) {
				return
			}
		}
	}
}

// profileReader reads one file, and collects what is wrong with it.
type profileReader struct {
	path   string
	lines  map[string]int
	faults []string
}

// fault adds what is wrong with the value of a key.
func (r *profileReader) fault(key []string, format string, args ...any) {
	name, where := strings.Join(key, "."), r.path
	if line := r.lines[name]; line > 0 {
		where += fmt.Sprintf(", line %d", line)
	}
	r.faults = append(r.faults, fmt.Sprintf("profiles_file: %s: %s %s.", where, name, fmt.Sprintf(format, args...)))
}

func (r *profileReader) unknown(key, allowed []string) {
	last := key[len(key)-1]
	r.fault(key, "is not known; did you mean %q? Allowed are: %s", nearest(last, allowed), strings.Join(allowed, ", "))
}

func (r *profileReader) table(key []string, value any) map[string]any {
	table, ok := value.(map[string]any)
	if !ok {
		r.fault(key, "must be a table, such as [%s]", strings.Join(key, "."))
	}
	return table
}

func (r *profileReader) profile(name string, value any) video.Profile {
	p, at := video.Profile{Name: name}, []string{"profile", name}
	if !profileName.MatchString(name) {
		r.fault(at, "has a name that is not allowed: 1 to 64 letters of English, digits, - and _")
	}
	for key, value := range inOrder(r.table(at, value)) {
		at := append(slices.Clone(at), key)
		switch key {
		case "preset":
			p.Preset, _ = value.(string)
			if !slices.Contains(video.Presets, p.Preset) {
				r.fault(at, "is %q; did you mean %q? Allowed are: %s", fmt.Sprint(value), nearest(p.Preset, video.Presets), strings.Join(video.Presets, ", "))
			}
		case "audio_bitrate":
			p.AudioBitrate = r.bitrate(at, value, leastAudio, mostAudio)
		case "max_fps":
			p.MaxFPS = r.frames(at, value)
		case "sizes":
			p.Sizes = map[video.Name]video.ProfileSize{}
			for size, value := range inOrder(r.table(at, value)) {
				p.Sizes[video.Name(size)] = r.size(append(slices.Clone(at), size), value)
			}
		default:
			r.unknown(at, []string{"preset", "audio_bitrate", "max_fps", "sizes"})
		}
	}
	return p
}

func (r *profileReader) size(at []string, value any) (s video.ProfileSize) {
	if name := video.Name(at[len(at)-1]); !name.Valid() {
		var names []string
		for _, n := range video.Names {
			names = append(names, string(n))
		}
		r.unknown(at, names)
	}
	for key, value := range inOrder(r.table(at, value)) {
		at := append(slices.Clone(at), key)
		switch key {
		case "crf":
			s.CRF = r.number(at, value)
		case "max_bitrate":
			s.MaxBitrate = r.bitrate(at, value, leastBitrate, mostBitrate)
		case "max_fps":
			s.MaxFPS = r.frames(at, value)
		default:
			r.unknown(at, []string{"crf", "max_bitrate", "max_fps"})
		}
	}
	return s
}

func (r *profileReader) number(at []string, value any) float64 {
	n, ok := value.(float64)
	if whole, is := value.(int64); is {
		n, ok = float64(whole), true
	}
	if !ok || !(n >= leastCRF && n <= mostCRF) {
		r.fault(at, "is %v: it must be a number from %d to %d", value, leastCRF, mostCRF)
	}
	return n
}

func (r *profileReader) frames(at []string, value any) int {
	n, ok := value.(int64)
	if !ok || n < 1 || n > mostFPS {
		r.fault(at, "is %v: it must be a whole number from 1 to %d", value, mostFPS)
	}
	return int(n)
}

// bitrate reads bits per second: a whole number, or a text such as "96k" or "1.5M".
func (r *profileReader) bitrate(at []string, value any, least, most int) int {
	text := strings.TrimSpace(fmt.Sprint(value))
	number, unit := text, 1.0
	for suffix, factor := range map[string]float64{"k": 1e3, "M": 1e6} {
		if cut, found := strings.CutSuffix(text, suffix); found {
			number, unit = cut, factor
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= unit; err != nil || !(n >= float64(least) && n <= float64(most)) {
		r.fault(at, "is %q: it must be from %s to %s, such as %q", text, bitrateText(least), bitrateText(most), "96k")
		return 0
	}
	return int(n)
}

func bitrateText(n int) string {
	if n >= 1e6 {
		return fmt.Sprintf("%dM", n/1e6)
	}
	return fmt.Sprintf("%dk", n/1e3)
}

var (
	tableHeader = regexp.MustCompile(`^\s*\[\s*([^\[\]#]+?)\s*\]`)
	tableKey    = regexp.MustCompile(`^\s*([^\s=#\[][^=#]*?)\s*=`)
)

// linesOfTables returns where each table and each of its keys is set, by its whole name, as far as the file is written in
// the usual way.
func linesOfTables(text string) map[string]int {
	plain := func(name string) string {
		parts := strings.Split(name, ".")
		for i, part := range parts {
			parts[i] = strings.Trim(part, ` "'`)
		}
		return strings.Join(parts, ".")
	}
	lines, table := map[string]int{}, ""
	for i, line := range strings.Split(text, "\n") {
		if m := tableHeader.FindStringSubmatch(line); m != nil {
			table = plain(m[1])
			for name := table; name != "" && lines[name] == 0; name = name[:max(strings.LastIndex(name, "."), 0)] {
				lines[name] = i + 1
			}
		} else if m := tableKey.FindStringSubmatch(line); m != nil {
			lines[strings.TrimPrefix(table+"."+plain(m[1]), ".")] = i + 1
		}
	}
	return lines
}
