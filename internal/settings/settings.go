// Package settings finds the values of flags that are not on the command line: first in the environment, then in the
// configuration file. It says where a value was found, and which setting a misspelt name was meant to be.
package settings

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Settings is a resolver of kong, which on its own lets the file win over the environment. An empty value counts as
// not set in either place.
//
// A value that cannot be parsed is recorded in Faults and otherwise ignored, so that
// all faults are reported together.
type Settings struct {
	Environ     func(name string) (string, bool)
	Variables   func() []string // all of them, as NAME=value; nil: none
	DefaultFile string          // read when no other is named and it exists
	User        int             // the user that the process runs as

	Names  []string // every setting, as its flag is called; see CollectNames
	Faults []string // what is wrong with the values, one sentence each
	Path   string   // of the file that was read; "": none
	Named  bool     // the file was chosen explicitly, and not found in the working directory

	values map[string]string // the file's
	lines  map[string]int    // of the file, where each key is
	found  map[string]string // where the value of a key was found, in words that continue "It is set "
	loaded bool
}

// ServerFlag names the server in the commands that speak to one. It is a setting of theirs, but not of serve.
const ServerFlag = "server"

// notSetting lists flags of serve that are not settings.
var notSetting = []string{"help", "config"}

// EnvName returns the environment variable of a flag: "data-dir" is SPOOL_DATA_DIR.
func EnvName(flag string) string {
	return "SPOOL_" + strings.ToUpper(KeyName(flag))
}

// KeyName returns the key of a flag in the configuration file: "data-dir" is data_dir.
func KeyName(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// CollectNames reads the names of all settings from the flags of the serve command.
func (s *Settings) CollectNames(k *kong.Kong) error {
	for _, node := range k.Model.Children {
		for _, flag := range node.Flags {
			if node.Name == "serve" && !slices.Contains(notSetting, flag.Name) {
				s.Names = append(s.Names, flag.Name)
			}
		}
	}
	return nil
}

// Help returns the help text of a flag: for a setting, with its default and its
// environment variable.
func (s *Settings) Help(value *kong.Value) string {
	text := value.Help
	if value.Flag == nil || !slices.Contains(append(s.Names, "config", ServerFlag), value.Name) {
		return text
	}
	if value.Default != "" {
		text += " Default: " + value.Default + "."
	}
	return text + " [$" + EnvName(value.Name) + "]"
}

// Validate is part of kong.Resolver; unknown keys are found when the file is read.
func (s *Settings) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag that is not on the command line, or nil.
func (s *Settings) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !slices.Contains(append(s.Names, ServerFlag), flag.Name) {
		return nil, nil
	}
	s.load(ctx)
	source := EnvName(flag.Name)
	value, _ := s.Environ(source)
	value = withoutSpaces(flag, value)
	where := "by " + source
	if value == "" {
		key := KeyName(flag.Name)
		source, where = s.position(key)+": "+key, "in "+s.position(key)
		value = withoutSpaces(flag, s.values[key])
	}
	if value == "" {
		return nil, nil
	}
	s.rememberOrigin(flag.Name, where)
	if !readable(flag, value) {
		s.Faults = append(s.Faults, fmt.Sprintf("%s is %q: it must be %s.", source, value, wanted(flag)))
		return nil, nil
	}
	return value, nil
}

// rememberOrigin keeps where a setting was found.
func (s *Settings) rememberOrigin(flag, where string) {
	if s.found == nil {
		s.found = map[string]string{}
	}
	s.found[KeyName(flag)] = where
}

// WithOrigins adds to each fault where its setting is set, because a forgotten value may be in the environment of a
// service. A fault begins with the name of its setting.
func (s *Settings) WithOrigins(ctx *kong.Context, faults []string) []string {
	for _, p := range ctx.Path {
		if p.Flag != nil && !p.Resolved {
			s.rememberOrigin(p.Flag.Name, "by --"+p.Flag.Name)
		}
	}
	out := make([]string, len(faults))
	for i, fault := range faults {
		out[i] = fault
		key := fault[:max(strings.IndexAny(fault+" ", " :"), 0)]
		if where, ok := s.found[key]; ok {
			out[i] += " It is set " + where + "."
		}
	}
	return out
}

// Origin returns where a setting is set, in words that continue "It is set "; "" if it has its default. It knows the
// command line only after WithOrigins.
func (s *Settings) Origin(key string) string { return s.found[key] }

// withoutSpaces removes the spaces around a value, and around each one of a list: files of variables and secrets end
// lines as they like, and people write "a, b".
func withoutSpaces(flag *kong.Flag, value string) string {
	if !flag.IsSlice() {
		return strings.TrimSpace(value)
	}
	parts := strings.Split(value, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, ",")
}

// InFile reports whether the file that was read sets a key.
func (s *Settings) InFile(key string) bool { return s.values[key] != "" }

// nearest returns the key of the setting, among some, that looks most like key.
func nearest(key string, among []string) string {
	best := slices.MinFunc(among, func(a, b string) int {
		return distance(KeyName(a), key) - distance(KeyName(b), key)
	})
	return KeyName(best)
}

// asText returns a TOML value as it would be written on the command line. All values
// are parsed from text, so that each source follows the same rules: a bare 20 is not a
// duration anywhere.
func asText(value any) (string, bool) {
	switch v := value.(type) {
	case map[string]any, []map[string]any:
		return "", false
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = fmt.Sprint(e)
		}
		return strings.Join(parts, ","), true
	default:
		return fmt.Sprint(v), true
	}
}

// readable reports whether flag accepts value.
func readable(flag *kong.Flag, value string) bool {
	scratch := reflect.New(flag.Target.Type()).Elem()
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, scratch) == nil
}

// wanted describes what flag accepts.
func wanted(flag *kong.Flag) string {
	switch flag.Target.Interface().(type) {
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	case float64:
		return "a number"
	case time.Duration:
		return "a duration such as 90s or 1h30m"
	case ByteSize:
		return "a size such as 5GiB, 500MB or a number of bytes"
	case Rate:
		return "a number, or auto"
	case slog.Level:
		return "debug, info, warn or error"
	case []Network:
		return "a list of networks such as 10.0.0.0/8"
	default:
		return "a text"
	}
}

// distance counts the letters to insert, remove or change to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
