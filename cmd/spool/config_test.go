package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/settings"
)

const exampleFile = "../../spool.example.toml"

// sources is where the settings of one test come from.
type sources struct {
	args []string          // after "serve"
	env  map[string]string //
	file string            // content of spool.toml; "" for none
}

// parse reads the settings as main would, without running the command.
func (s sources) parse(t *testing.T) (*Config, error) {
	t.Helper()
	c, _, err := s.parseAndFind(t)
	return c, err
}

// parseAndFind also returns where the settings were found.
func (s sources) parseAndFind(t *testing.T) (*Config, *settings.Settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spool.toml")
	if s.file != "" {
		write(t, path, s.file)
	}
	found := &settings.Settings{Environ: lookup(s.env), DefaultFile: path, User: os.Geteuid()}
	c := new(cli)
	parser, err := newParser(c, found)
	if err != nil {
		t.Fatal(err)
	}
	command, err := parser.Parse(append([]string{"serve"}, s.args...))
	if err != nil {
		return nil, nil, err
	}
	if faults := append(found.Faults, found.WithOrigins(command, commandFaults(command))...); len(faults) > 0 {
		return nil, nil, &configError{faults}
	}
	return &c.Serve.Config, found, nil
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SPOOL_LISTEN": "env:1", "SPOOL_WORKERS": "2", "SPOOL_KEEP_SOURCE": "false"}
	file := "listen = 'file:1'\nworkers = 3\nkeep_source = false\n"
	tests := []struct {
		name       string
		from       sources
		listen     string
		workers    int
		keepSource bool
	}{
		{"nothing set gives the defaults", sources{}, "127.0.0.1:8080", 0, true},
		{"the file wins over the defaults", sources{file: file}, "file:1", 3, false},
		{"the environment wins over the file", sources{env: env, file: file}, "env:1", 2, false},
		{"a flag wins over all", sources{[]string{"--listen=flag:1", "--workers=1", "--keep-source"}, env, file}, "flag:1", 1, true},
		{"a flag at its default value still wins", sources{[]string{"--workers=0"}, env, file}, "env:1", 0, false},
		{"an empty variable counts as not set", sources{env: map[string]string{"SPOOL_LISTEN": ""}, file: file}, "file:1", 3, false},
		{"a flag can say no", sources{args: []string{"--no-keep-source"}}, "127.0.0.1:8080", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := tt.from.parse(t)
			if err != nil {
				t.Fatal(err)
			}
			if c.Listen != tt.listen || c.Workers != tt.workers || c.KeepSource != tt.keepSource {
				t.Errorf("listen %q, workers %d, keep_source %v; want %q, %d, %v",
					c.Listen, c.Workers, c.KeepSource, tt.listen, tt.workers, tt.keepSource)
			}
		})
	}
}

func TestTheFileCanBeNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := write(t, filepath.Join(dir, "a.toml"), "listen = 'a:1'")
	b := write(t, filepath.Join(dir, "b.toml"), "listen = 'b:1'")
	tests := []struct {
		name string
		from sources
		want string
	}{
		{"by the environment, instead of ./spool.toml", sources{env: map[string]string{"SPOOL_CONFIG": a}, file: "listen = 'c:1'"}, "a:1"},
		{"by the flag, instead of the environment's", sources{args: []string{"--config", b}, env: map[string]string{"SPOOL_CONFIG": a}}, "b:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := tt.from.parse(t)
			if err != nil || c.Listen != tt.want {
				t.Fatalf("listen = %+v, %v; want %s", c, err, tt.want)
			}
		})
	}
	t.Run("but must exist then", func(t *testing.T) {
		t.Parallel()
		none := filepath.Join(dir, "none.toml")
		_, err := sources{args: []string{"--config", none}}.parse(t)
		if want := "the settings in " + none + " cannot be read: no such file or directory."; err == nil || err.Error() != want {
			t.Errorf("a missing file that was named gives %q, want %q", err, want)
		}
	})
	t.Run("and must be TOML", func(t *testing.T) {
		t.Parallel()
		broken := write(t, filepath.Join(dir, "broken.toml"), "listen: :8080")
		_, err := sources{args: []string{"--config", broken}}.parse(t)
		if err == nil || !strings.HasPrefix(err.Error(), "the settings in "+broken+" cannot be read: ") {
			t.Errorf("a file that is no TOML gives %v", err)
		}
	})
}

// Files are left only to proxies that were named for it: others may pass on what clients ask for.
func TestProxiesThatSendFilesAreNamed(t *testing.T) {
	t.Parallel()
	header := "--sendfile-header=X-Accel-Redirect"
	_, err := sources{args: []string{header, "--trusted-proxies=10.0.0.0/8"}}.parse(t)
	if err == nil || !strings.Contains(err.Error(), "sendfile_proxies is empty") {
		t.Errorf("a sendfile_header without sendfile_proxies gives %v", err)
	}
	c, err := sources{args: []string{header}, file: `sendfile_proxies = ["127.0.0.1"]`}.parse(t)
	if err != nil || len(c.SendfileProxies) != 1 || len(c.TrustedProxies) != 0 {
		t.Errorf("with it, the settings are %+v, %v", c, err)
	}
}

func TestFaultsAreToldTogether(t *testing.T) {
	t.Parallel()
	from := sources{
		args: []string{"--role=cook", "--database-url=mysql://x"},
		env:  map[string]string{"SPOOL_GRACE": "soon", "SPOOL_STORAGE_URL": "gs://bucket"},
		file: "datadir = 'x'\ngrace = '1m'\nworkers = -1\nupload_url_ttl = '1s'\nlog_level = 'loud'\n[server]\nlisten = ':1'\n",
	}
	_, err := from.parse(t)
	bad, ok := errors.AsType[*configError](err)
	if !ok {
		t.Fatalf("parse = %v, want a list of faults", err)
	}
	told := strings.Join(bad.faults, "\n")
	for _, want := range []string{
		`there is no setting "datadir"; did you mean "data_dir"?`,
		`there is no setting "server"`,
		`SPOOL_GRACE is "soon": it must be a duration such as 90s or 1h30m.`,
		`log_level is "loud": it must be debug, info, warn or error.`,
		`role is "cook": it must be all, api or worker.`,
		`database_url must be like "postgres://user:password@host:5432/spool"`,
		"storage_url: ",
		"workers is -1: it must be from 0 to 1024.",
		"upload_url_ttl is 1s: it must be from 1m0s to 168h0m0s.",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("nobody said: %s", want)
		}
	}
	if len(bad.faults) != 9 {
		t.Errorf("%d faults, want 9:\n%s", len(bad.faults), told)
	}
}

func TestEachFault(t *testing.T) {
	t.Parallel()
	empty := write(t, filepath.Join(t.TempDir(), "key"), "\n")
	placeholder := write(t, filepath.Join(t.TempDir(), "key"), "change-me-0123456789\n")
	tests := []struct {
		name string
		from sources
		want string
	}{
		{"no port", sources{args: []string{"--listen=localhost"}}, "HOST:PORT"},
		{"a port that is none", sources{args: []string{"--listen=:http"}}, "0 to 65535"},
		{"a base without a scheme", sources{args: []string{"--base-url=video.example.com"}}, "https://video.example.com"},
		{"a base with a query", sources{args: []string{"--base-url=https://a/?b"}}, "without a query"},
		{"an unknown role", sources{args: []string{"--role=boss"}}, "all, api or worker"},
		{"a role of its own on one machine's database", sources{args: []string{"--role=worker", "--storage-url=s3://bucket?region=x"}}, "needs database_url and storage_url"},
		{"an unknown way to play", sources{args: []string{"--playback=torrent"}}, "redirect or proxy"},
		{"a database of another kind", sources{args: []string{"--database-url=mysql://x"}}, "postgres://"},
		{"a database that cannot be parsed", sources{args: []string{"--database-url=postgres://h:port/x"}}, "database_url cannot be read"},
		{"a database in two places", sources{args: []string{"--database-url=postgres://x", "--database-url-file=y"}}, "both set"},
		{"a database whose file is missing", sources{args: []string{"--database-url-file=/none"}}, "cannot be read"},
		{"a storage of another kind", sources{args: []string{"--storage-url=gs://bucket"}}, "s3://"},
		{"uploads that S3 does not take", sources{args: []string{"--storage-url=s3://bucket?region=x", "--max-upload-bytes=6GiB"}}, "at most 5368709120"},
		{"more draining than stopping", sources{args: []string{"--grace=10s", "--drain=6s"}}, "drain is 6s"},
		{"an unknown log format", sources{args: []string{"--log-format=xml"}}, "auto, text or json"},
		{"an unknown quality", sources{args: []string{"--quality=best"}}, "fast, balanced or small"},
		{"an unknown largest resolution", sources{args: []string{"--max-resolution=2160p"}}, "max_resolution is"},
		{"an unknown loudness", sources{args: []string{"--loudness=loud"}}, "loudness"},
		{"sound that is too loud", sources{args: []string{"--loudness-target=-9"}}, "loudness_target is -9: it must be from -31 to -10 LUFS."},
		{"sound that is as loud as no number", sources{args: []string{"--loudness-target=nan"}}, "loudness_target"},
		{"enlarging to less", sources{args: []string{"--max-upscale=0.5"}}, "max_upscale is 0.5: it must be from 1 to 100."},
		{"enlarging by no number", sources{args: []string{"--max-upscale=nan"}}, "max_upscale"},
		{"an unknown encoder", sources{args: []string{"--encoder=gpu"}}, "software, nvenc, qsv, vaapi or auto"},
		{"resumable uploads that S3 does not keep", sources{args: []string{"--storage-url=s3://bucket?region=x", "--max-resumable-bytes=6TiB"}}, "as one object"},
		{"an address for resumable uploads of eight days", sources{args: []string{"--resumable-url-ttl=192h"}}, "resumable_url_ttl"},
		{"no room for any resumable upload", sources{args: []string{"--max-resumable-bytes=0"}}, "max_resumable_bytes"},
		{"signed addresses of less than a minute", sources{args: []string{"--max-signed-life=59s"}}, "max_signed_life is 59s: it must be from 1m0s to 8760h0m0s"},
		{"signed addresses of more than a year", sources{file: "max_signed_life = '8761h'"}, "max_signed_life is 8761h0m0s"},
		{"an upload address of eight days", sources{args: []string{"--upload-url-ttl=192h"}}, "168h0m0s"},
		{"no room for any upload", sources{args: []string{"--max-upload-bytes=0"}}, "at least 1"},
		{"a duration without its unit", sources{file: "grace = 20"}, "a duration such as"},
		{"a table for a value", sources{file: "[listen]\nport = 1"}, "not a table"},
		{"a proxy that is no network", sources{env: map[string]string{"SPOOL_TRUSTED_PROXIES": "10.0.0.0/8,home"}}, "a list of networks"},
		{"a size that is none", sources{env: map[string]string{"SPOOL_MAX_UPLOAD_BYTES": "much"}}, "a size such as"},
		{"a key in two places", sources{args: []string{"--api-key=a", "--api-key-file=b"}}, "both set"},
		{"a key file that is missing", sources{args: []string{"--api-key-file=/none"}}, "cannot be read"},
		{"a key file that is empty", sources{args: []string{"--api-key-file", empty}}, "is empty"},
		{"a key of one letter", sources{env: map[string]string{"SPOOL_API_KEY": "x"}}, "openssl rand -base64 32"},
		{"a key of seven letters", sources{args: []string{"--api-key=1234567"}}, "api_key has fewer than 8 characters"},
		{"a placeholder", sources{file: "api_key = 'ChangeMe'"}, "api_key is a placeholder"},
		{"a placeholder in brackets", sources{env: map[string]string{"SPOOL_API_KEY": "<API_KEY>"}}, "spool keys create"},
		{"a placeholder in a file", sources{args: []string{"--api-key-file", placeholder}}, "api_key is a placeholder"},
		{"a key that fits no header", sources{env: map[string]string{"SPOOL_API_KEY": "two words are too many"}}, "HTTP header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := tt.from.parse(t); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the fault is told as %v, want %q in it", err, tt.want)
			}
		})
	}
}

// People put passwords into addresses, and copy what a start says into a chat.
func TestNoFaultShowsAPassword(t *testing.T) {
	t.Parallel()
	for setting, addresses := range map[string][]string{
		"base_url":       {"https://spool:hunter2@example.com", "https://spool:hunter2@example.com?x", "spool:hunter2@example.com", "https://spool:hun/ter2@example.com", "https://spool:hun ter2@example.com"},
		"oidc_issuer":    {"https://spool:hunter2@example.com", "http://example.com?spool:hunter2"},
		"cdn_url":        {"https://spool:hunter2@example.com", "ftp://spool:hunter2@example.com", "spool:hunter2@example.com", "https://spool:hun/ter2@example.com"},
		"cdn_purge_url":  {"https://spool:hunter2@example.com", "https://spool:hun/ter2@example.com", "spool:hunter2@example.com"},
		"storage_url":    {"s3://spool:hunter2@bucket", "s3://spool:hun/ter2@bucket", "https://spool:hunter2@example.com/bucket", "s3://bucket?endpoint=https://spool:hunter2@example.com", "s3://bucket?endpoint=https://spool:hun/ter2@example.com"},
		"database_url":   {"postgres://spool:hunter2@host:port/db", "postgres://spool:hun/ter2@host/db", "postgres://spool:hun%ter2@host/db", "postgres://spool:hunter2@host/db?sslmode=x", "mysql://spool:hunter2@host/db", "postgres://spool:hunter2@x@host/db"},
		"outbound_allow": {"https://spool:hunter2@example.com", "spool:hunter2@example.com"},
	} {
		for _, address := range addresses {
			_, err := sources{env: map[string]string{"SPOOL_" + strings.ToUpper(setting): address}}.parse(t)
			if err == nil || !strings.Contains(err.Error(), setting) {
				t.Errorf("%s = %s: %v; want a fault of the setting", setting, address, err)
			} else if strings.Contains(err.Error(), "ter2") || strings.Contains(err.Error(), "hun") {
				t.Errorf("%s = %s: %v", setting, address, err)
			}
		}
	}
}

func TestKeysOfSomeLengthAreAccepted(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"8letters", "test-key", "change-me-later", "0123456789abcdef"} {
		if _, err := (sources{env: map[string]string{"SPOOL_API_KEY": key}}).parse(t); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestAKeyIsReadFromItsFile(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "key"), "0123456789abcdef\n")
	for name, from := range map[string]sources{
		"by flag":        {args: []string{"--api-key-file", path}},
		"by environment": {env: map[string]string{"SPOOL_API_KEY_FILE": path}},
		"by file":        {file: "api_key_file = '" + path + "'"},
	} {
		c, err := from.parse(t)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.APIKey != "0123456789abcdef" {
			t.Errorf("%s: key %q; want the file's without the line end", name, c.APIKey)
		}
	}
}

func TestSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	full, empty := write(t, filepath.Join(t.TempDir(), "secret"), " secret\n"), write(t, filepath.Join(t.TempDir(), "empty"), "\n")
	for _, tt := range []struct{ value, file, want, fault string }{
		{"", "", "", ""},
		{"given", "", "given", ""},
		{"", full, "secret", ""},
		{"given", full, "given", "name and name_file are both set"},
		{"", empty, "", "name_file: " + empty + " is empty"},
		{"", full + "-missing", "", "name_file cannot be read"},
	} {
		value, file := tt.value, tt.file
		fault := strings.Join(readSecret("name", &value, &file), "")
		if value != tt.want || (fault == "") != (tt.fault == "") || !strings.Contains(fault, tt.fault) {
			t.Errorf("%q and the file %q give %q and %q; want %q and %q", tt.value, tt.file, value, fault, tt.want, tt.fault)
		}
	}
}

func TestTheExampleFileShowsTheDefaults(t *testing.T) {
	t.Parallel()
	var tree map[string]any
	meta, err := toml.DecodeFile(exampleFile, &tree)
	if err != nil {
		t.Fatal(err)
	}
	s := new(settings.Settings)
	if _, err := newParser(new(cli), s); err != nil {
		t.Fatal(err)
	}
	var keys, want []string
	for _, k := range meta.Keys() {
		keys = append(keys, k.String())
	}
	for _, n := range s.Names {
		want = append(want, settings.KeyName(n))
	}
	slices.Sort(keys)
	slices.Sort(want)
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("settings (-) and keys in the example (+) differ:\n%s", diff)
	}

	defaults, err := sources{}.parse(t)
	if err != nil {
		t.Fatal(err)
	}
	example, err := sources{args: []string{"--config", exampleFile}}.parse(t)
	if err != nil {
		t.Fatal(err)
	}
	example.Config = ""
	if !reflect.DeepEqual(defaults, example) {
		t.Errorf("the example sets %+v, the defaults are %+v", example, defaults)
	}
	for name, value := range tree { // an empty default must be shown as such, too
		if (value == "" || reflect.DeepEqual(value, []any{})) && !isZero(defaults, name) {
			t.Errorf("the example shows %s as empty, which is not its default", name)
		}
	}
}

// isZero reports whether the setting called name is empty by default.
func isZero(c *Config, name string) bool {
	field := reflect.ValueOf(c).Elem().FieldByNameFunc(func(f string) bool {
		return strings.EqualFold(f, strings.ReplaceAll(name, "_", ""))
	})
	return field.IsValid() && (field.IsZero() || field.Len() == 0)
}

func TestDefaultsAreTheContract(t *testing.T) {
	t.Parallel()
	c, err := sources{}.parse(t)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Location: Location{DataDir: "./data"},
		Listen:   "127.0.0.1:8080", Role: "all", RateLimit: settings.Rate{PerSecond: 500, Auto: true}, UploadConcurrency: 100, MaxImports: 8, UploadURLTTL: time.Hour, MaxSignedLife: 8760 * time.Hour, MaxUploadBytes: 5 << 30, ResumableURLTTL: 24 * time.Hour, MaxResumableBytes: 50 << 30,
		AbandonedAfter: 24 * time.Hour, KeepSource: true, Pictures: true, MeasureQuality: true, MinFree: 16 << 20, FFmpegNice: 10, Sandbox: "on",
		Quality: "balanced", Resolutions: []string{"1080p", "720p", "480p"}, Codecs: []string{"h264"}, HDR: "sdr", CopySource: "auto", Loudness: "keep", LoudnessTarget: -16, Encoder: "software", MaxResolution: "8k", MaxUpscale: 2, Playback: "redirect",
		Audience: "on", AudienceDays: 400, PopularAfter: 20 * time.Hour,
		FFmpeg: "ffmpeg", FFprobe: "ffprobe", Grace: 20 * time.Second, LogFormat: "auto", LogLevel: slog.LevelInfo,
		TranscriberMemory: 4 << 30, TranscriberTimeout: 6 * time.Hour, Transcribe: "off",
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("defaults are %+v, want %+v", c, want)
	}
}

func TestToolsThatAreMissingAreNamedTogether(t *testing.T) {
	t.Parallel()
	c := &Config{FFmpeg: "/none/ffmpeg", FFprobe: "no-such-ffprobe"}
	_, _, err := c.tools()
	if bad, ok := errors.AsType[*configError](err); !ok || len(bad.faults) != 2 {
		t.Errorf("tools() = %v, want both programs named", err)
	}
	c.FFmpeg = filepath.Join(t.TempDir(), "ffmpeg")
	if err := os.WriteFile(c.FFmpeg, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.tools(); err == nil || !strings.Contains(err.Error(), c.FFmpeg+" may not be executed") {
		t.Errorf("a file that is not executable: %v", err)
	}
}

// newProcess returns a process with keys and env, and what it prints.
func newProcess(keys *fakeKeys, env map[string]string) (p *process, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &process{
		stdout: stdout, stderr: stderr,
		now:      func() time.Time { return time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC) },
		exit:     func(int) {},
		openKeys: func(context.Context, Location) (keyStore, io.Closer, error) { return keys, keys, nil },
		openSigningKeys: func(context.Context, Location, time.Duration) (signingKeyStore, io.Closer, error) {
			return &keys.signing, keys, nil
		},
		settings: settings.Settings{Environ: lookup(env), User: os.Geteuid()},
	}, stdout, stderr
}

func TestABadSettingEndsWithTheUsageCode(t *testing.T) {
	t.Parallel()
	p, stdout, stderr := newProcess(nil, map[string]string{"SPOOL_WORKERS": "many"})
	if code := p.run(t.Context(), []string{"serve"}); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	if !strings.HasPrefix(stderr.String(), "spool: SPOOL_WORKERS is \"many\"") || stdout.Len() > 0 {
		t.Errorf("printed %q and %q; want one sentence on stderr", stdout, stderr)
	}
}

// What all processes share may name a key that a worker cannot read, and must not need.
func TestAWorkerDoesNotLookAtTheAPIKey(t *testing.T) {
	t.Parallel()
	fleet := []string{"--database-url=postgres://spool@host/spool", "--storage-url=s3://bucket?region=x", "--api-key-file=/no/such/file"}
	if _, err := (sources{args: append(fleet, "--role=worker")}).parse(t); err != nil {
		t.Errorf("a worker refuses its settings: %v", err)
	}
	if _, err := (sources{args: append(fleet, "--role=api")}).parse(t); err == nil {
		t.Error("an API process accepts a key that it cannot read")
	}
}
