package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/settings"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/delivery"
)

// Location says where the service keeps its data. Commands other than serve need it, too.
type Location struct {
	Config      string `placeholder:"FILE" help:"Read settings from this TOML file (default: ./spool.toml, if it exists)."`
	DataDir     string `default:"./data" placeholder:"DIR" help:"Directory for the database, the videos and the scratch files. Spool writes nowhere else."`
	DatabaseURL string `name:"database-url" placeholder:"URL" help:"URL of the database, such as postgres://user:password@host/spool. Empty: SQLite in the data directory."`

	DatabaseURLFile string `name:"database-url-file" placeholder:"FILE" help:"File that contains the database URL, for secrets that are mounted as files."`
}

// Config holds every setting of the service, and nothing else reads the
// environment or the configuration file. Each field is a flag, an environment
// variable SPOOL_… and a key in spool.toml (except Config itself, which cannot
// name itself); names follow from the flag's name. Packages receive the values
// they need, never this struct.
type Config struct {
	Location

	Listen             string             `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on."`
	AdminListen        string             `placeholder:"HOST:PORT" help:"Another address, for operators: profiles (pprof), metrics and health. It needs no key. Empty: none."`
	BaseURL            string             `name:"base-url" placeholder:"URL" help:"Start of the URLs that clients receive, such as https://video.example.com. Empty: derived from each request."`
	CDNURL             string             `name:"cdn-url" placeholder:"URL" help:"Start of all playback URLs, such as https://cdn.example.com: a CDN whose origin is this server. Empty: playback URLs start like all others."`
	CDNPurgeURL        string             `name:"cdn-purge-url" placeholder:"URL" help:"URL at which Spool tells the CDN which files to remove, after a video, a resolution or captions were deleted."`
	CDNPurgeToken      string             `name:"cdn-purge-token" placeholder:"TOKEN" help:"Token of these requests (Authorization: Bearer). Prefer --cdn-purge-token-file."`
	CDNPurgeTokenFile  string             `name:"cdn-purge-token-file" placeholder:"FILE" help:"File that contains this token."`
	TrustedProxies     []settings.Network `placeholder:"NET" help:"Networks of the reverse proxies whose X-Forwarded-* headers are trusted."`
	SendfileHeader     string             `placeholder:"NAME" help:"Header that makes sendfile_proxies send files from the disk themselves: X-Accel-Redirect (nginx) or X-Sendfile (Apache, lighttpd). Empty: Spool sends them."`
	SendfileProxies    []settings.Network `placeholder:"NET" help:"Networks of these proxies. List only proxies that set the header X-Sendfile-Type themselves, whatever their clients send."`
	OutboundAllow      []string           `placeholder:"NET" help:"Private networks, addresses and host names that webhooks and imports may connect to, also by http."`
	RateLimit          settings.Rate      `default:"auto" placeholder:"N" help:"API requests per second allowed for each tenant, with bursts of twice as many. 0: no limit. auto: 500, and 20 reads of single videos count as one."`
	UploadConcurrency  int                `default:"100" placeholder:"N" help:"Files that may be uploaded to this process at the same time for each tenant. 0: no limit."`
	MaxImports         int                `default:"8" placeholder:"N" help:"Files that this process fetches from URLs (sourceUrl) at the same time. 0 turns import by URL off."`
	APIKey             string             `name:"api-key" placeholder:"KEY" help:"API key that each start makes valid. Without one, the first start creates a key and prints it once. Prefer --api-key-file: other users of the machine can see arguments."`
	APIKeyFile         string             `name:"api-key-file" placeholder:"FILE" help:"File that contains the API key."`
	StorageURL         string             `name:"storage-url" placeholder:"URL" help:"URL of the object storage, such as s3://bucket/prefix?region=eu-central-1. Empty: the data directory."`
	Playback           string             `default:"redirect" placeholder:"HOW" help:"With object storage: redirect sends players to the bucket; proxy serves playback through Spool."`
	Role               string             `default:"all" placeholder:"ROLE" help:"What this process does: api answers requests, worker encodes, all does both."`
	UploadURLTTL       time.Duration      `name:"upload-url-ttl" default:"1h" placeholder:"DURATION" help:"How long an upload URL is valid, 60s to 168h."`
	MaxUploadBytes     settings.ByteSize  `default:"5GiB" placeholder:"SIZE" help:"Largest file accepted in one request, such as 5GiB or 500MB."`
	ResumableURLTTL    time.Duration      `name:"resumable-url-ttl" default:"24h" placeholder:"DURATION" help:"How long the URL of a resumable upload is valid, 60s to 168h."`
	MaxResumableBytes  settings.ByteSize  `default:"50GiB" placeholder:"SIZE" help:"Largest file accepted as a resumable upload."`
	MinFree            settings.ByteSize  `default:"16MiB" placeholder:"SIZE" help:"Disk space that stays free for the database. With less, new videos and uploads get 507, and tasks wait. Deleting still works."`
	MaxSignedLife      time.Duration      `default:"8760h" placeholder:"DURATION" help:"Longest lifetime of a signed playback URL, 1m to 8760h. A client that asks for more gets this lifetime."`
	AbandonedAfter     time.Duration      `default:"24h" placeholder:"DURATION" help:"How long after its upload URL expired an unfinished upload is abandoned: its data is removed, and the video fails. The video itself is removed after seven times as long, at least a day."`
	KeepSource         bool               `default:"true" negatable:"" help:"Keep the uploaded file after transcoding."`
	Upscale            bool               `negatable:"" help:"Enlarge small videos to the requested resolutions, within max_upscale and max_resolution."`
	Resolutions        []string           `name:"default-resolutions" default:"1080p,720p,480p" placeholder:"NAME" help:"Resolutions that the console and spool upload ask for unless a person chooses others. An import that names none gets them, too."`
	MaxResolution      string             `default:"8k" placeholder:"NAME" help:"Largest resolution that is made. Larger ones get this size."`
	MaxUpscale         float64            `default:"2" placeholder:"N" help:"How many times its own size a video may be enlarged, at least 1. 1 forbids enlarging."`
	Quality            string             `default:"balanced" placeholder:"QUALITY" help:"How much CPU time to spend: fast, balanced or small. Slower means smaller files."`
	Codecs             []string           `default:"h264" placeholder:"CODEC" help:"Codecs in which a video is made unless a client says otherwise: h264, and av1 or hevc beside it. They are made when no other task waits."`
	HDR                string             `name:"hdr" default:"sdr" placeholder:"WHAT" help:"What becomes of sources in HDR unless a client says otherwise: sdr makes all for ordinary screens, keep has av1 and hevc keep the range. H.264 is always made for ordinary screens."`
	ProfilesFile       string             `name:"profiles-file" placeholder:"FILE" help:"TOML file with profiles: named ladders that clients may choose, with bitrates, frame rates and quality of each size. Empty: there are none."`
	AcceptAudio        bool               `negatable:"" help:"Make videos of files with sound and no picture (mp3, m4a, flac, …) unless a client says otherwise. Their cover, or else their waveform, is the picture."`
	CopySource         string             `default:"auto" placeholder:"WHEN" help:"Whether a video at the size of its file may be the picture of the file, unless a client says otherwise: auto copies it where that plays everywhere as it is, never encodes it."`
	Loudness           string             `default:"keep" placeholder:"WHAT" help:"What becomes of the loudness of the sound unless a client says otherwise: keep leaves it as it is, normalize makes all tracks as loud as loudness_target."`
	LoudnessTarget     float64            `default:"-16" placeholder:"LUFS" help:"How loud tracks are made by normalize, -31 to -10 LUFS. True peaks stay at or below -1 dBTP."`
	Encoder            string             `default:"software" placeholder:"KIND" help:"The encoder: software, a hardware encoder (nvenc, qsv or vaapi), or auto, the first hardware encoder that works. If hardware does not work, software is used."`
	Pictures           bool               `default:"true" negatable:"" help:"Make a storyboard, a preview, and smaller AVIF and WebP pictures of each video."`
	Transcriber        string             `placeholder:"COMMAND" help:"Program that writes down what is said: a command with {audio} (a WAV file), {output} (WebVTT or SubRip) and, if it wants, {language}. Empty: none. It runs in the sandbox."`
	Translator         string             `placeholder:"COMMAND" help:"Program that translates captions: a command with {input} and {output} (WebVTT), {from} and {to}. Empty: none. It runs in the sandbox."`
	TranscriberMemory  settings.ByteSize  `default:"4GiB" placeholder:"SIZE" help:"Memory that the transcriber and the translator may use, each."`
	TranscriberTimeout time.Duration      `default:"6h" placeholder:"DURATION" help:"How long the transcriber or the translator may take for a video."`
	TranscriberPaths   []string           `placeholder:"PATH" help:"Files and folders that both may read beside their input: models, scripts, modules."`
	Transcribe         string             `default:"off" placeholder:"WHAT" help:"Which new videos are transcribed unless a client says otherwise: off, on (the program finds out the language), or a language such as en."`
	MeasureQuality     bool               `default:"true" negatable:"" help:"Compare a few frames of each finished video with its source, for the report."`
	Audience           string             `default:"on" placeholder:"on|off" help:"Count what is watched: on, or off. Nothing that leads to a person is stored."`
	AudienceDays       int                `default:"400" placeholder:"DAYS" help:"How many days these counts are kept."`
	PopularCodecs      []string           `placeholder:"CODEC" help:"Codecs, av1 or hevc, that a video gets by itself when it is watched much. They are made when no other task waits. Empty: none."`
	PopularAfter       time.Duration      `default:"20h" placeholder:"DURATION" help:"How long a video has to be watched within seven days, by all viewers together, to get popular_codecs."`
	GeoDatabase        string             `placeholder:"FILE" help:"MaxMind file (.mmdb) with the countries of addresses, for the audience. Empty: countries are not counted."`
	Workers            int                `default:"0" placeholder:"N" help:"Number of concurrent tasks. 0: one per core."`
	FFmpegNice         int                `name:"ffmpeg-nice" default:"10" placeholder:"N" help:"Niceness of ffmpeg, from 0 to 19 as in nice(1). The higher it is, the more of a busy CPU other processes get, such as Spool's server."`
	Sandbox            string             `default:"on" placeholder:"MODE" help:"on confines ffmpeg: it can read one file and write to one folder, without network. Use off only if the kernel does not support this."`
	FFmpeg             string             `name:"ffmpeg" default:"ffmpeg" placeholder:"PATH" help:"The ffmpeg program."`
	FFprobe            string             `name:"ffprobe" default:"ffprobe" placeholder:"PATH" help:"The ffprobe program."`
	Grace              time.Duration      `default:"20s" placeholder:"DURATION" help:"How long a shutdown may take."`
	Drain              time.Duration      `default:"0s" placeholder:"DURATION" help:"How long a shutdown still answers requests while /readyz returns 503, for load balancers that notice slowly. It is part of grace."`
	LogFormat          string             `default:"auto" placeholder:"FORMAT" help:"auto (text on a terminal, else json), text or json."`
	LogLevel           slog.Level         `default:"info" placeholder:"LEVEL" help:"debug, info, warn or error."`

	OIDCIssuer           string   `name:"oidc-issuer" placeholder:"URL" help:"OpenID provider with which people sign in to the console, such as https://login.example.com. Empty: they enter an API key."`
	OIDCClientID         string   `name:"oidc-client-id" placeholder:"ID" help:"What the provider calls this server."`
	OIDCClientSecret     string   `name:"oidc-client-secret" placeholder:"SECRET" help:"The secret that the provider gave for it. Prefer --oidc-client-secret-file."`
	OIDCClientSecretFile string   `name:"oidc-client-secret-file" placeholder:"FILE" help:"File that contains this secret."`
	OIDCAdmins           []string `name:"oidc-admins" placeholder:"ADDRESS" help:"E-mail addresses of the people who may do everything, in all tenants. The provider must vouch for them (email_verified)."`
	OIDCClaim            string   `name:"oidc-claim" placeholder:"NAME" help:"Claim of the ID token that lists what a person may do, such as groups with entries like default:read,write (TENANT:SCOPE,SCOPE)."`
}

// faults returns what is wrong with the location, one sentence each.
func (l *Location) faults() []string {
	var faults []string
	if l.DataDir == "" {
		faults = append(faults, "data_dir is empty: name a folder.")
	}
	if unread := readSecret("database_url", &l.DatabaseURL, &l.DatabaseURLFile); len(unread) > 0 {
		return append(faults, unread...)
	}
	if l.DatabaseURL != "" {
		if err := store.CheckURL(l.DatabaseURL); err != nil {
			faults = append(faults, fmt.Sprintf("database_url %v.", err))
		}
	}
	return faults
}

// readSecret sets a setting to the content of a file, if one is named, and forgets the file. It returns what is wrong,
// one sentence each.
func readSecret(name string, value, file *string) []string {
	if *file == "" {
		return nil
	}
	if *value != "" {
		return []string{fmt.Sprintf("%[1]s and %[1]s_file are both set: keep one of them.", name)}
	}
	b, err := os.ReadFile(*file)
	if err != nil {
		return []string{fmt.Sprintf("%s_file cannot be read: %v.", name, err)}
	}
	if *value = strings.TrimSpace(string(b)); *value == "" {
		return []string{fmt.Sprintf("%s_file: %s is empty.", name, *file)}
	}
	*file = ""
	return nil
}

// faults returns everything that is wrong with the settings, one sentence each.
func (c *Config) faults() []string {
	return slices.Concat(c.Location.faults(), c.addressFaults(), c.sendfileFaults(), c.adminFaults(), c.fleetFaults(), c.choiceFaults(), c.speechFaults(), c.rangeFaults(), c.profileFaults(), c.keyFaults(), c.signInFaults())
}

func (c *Config) addressFaults() []string {
	var faults []string
	if _, port, err := net.SplitHostPort(c.Listen); err != nil {
		faults = append(faults, fmt.Sprintf(`listen is %q: it must be HOST:PORT, such as "127.0.0.1:8080" or ":8080".`, c.Listen))
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		faults = append(faults, fmt.Sprintf("listen is %q: the port must be a number from 0 to 65535.", c.Listen))
	}
	if c.BaseURL != "" && !isBase(c.BaseURL) {
		faults = append(faults, `base_url must be a URL such as "https://video.example.com", without a query or a password.`)
	}
	faults = append(faults, c.cdnFaults()...)
	if _, err := outbound.NewGuard(c.OutboundAllow...); err != nil {
		faults = append(faults, fmt.Sprintf("outbound_allow: %v.", err))
	}
	return faults
}

// sendfileFaults finds what is wrong with leaving files to a proxy.
func (c *Config) sendfileFaults() []string {
	if c.SendfileHeader == "" {
		return nil
	}
	faults := oneOf("sendfile_header", c.SendfileHeader, []string{delivery.XAccelRedirect, delivery.XSendfile})
	if c.StorageURL != "" {
		faults = append(faults, "sendfile_header is set, but so is storage_url: a proxy can only send files that are on this machine.")
	}
	if len(c.SendfileProxies) == 0 {
		faults = append(faults, "sendfile_header is set, but sendfile_proxies is empty: name the proxies that send files.")
	}
	return faults
}

// fleetFaults finds what is wrong with the settings for several machines. A process
// with a single role needs a database and a storage that it shares with others.
func (c *Config) fleetFaults() []string {
	faults := c.storageFaults()
	faults = append(faults, oneOf("role", c.Role, []string{"all", "api", "worker"})...)
	faults = append(faults, oneOf("playback", c.Playback, []string{"redirect", "proxy"})...)
	if (c.Role == "api" || c.Role == "worker") && (c.DatabaseURL == "" || c.StorageURL == "") {
		faults = append(faults, fmt.Sprintf("role is %q: that needs database_url and storage_url, which the other machines share.", c.Role))
	}
	return faults
}

// runsTasks and servesRequests report whether this process runs tasks and serves requests.
func (c *Config) runsTasks() bool      { return c.Role != "api" }
func (c *Config) servesRequests() bool { return c.Role != "worker" }

func (c *Config) choiceFaults() []string {
	return slices.Concat(
		oneOf("log_format", c.LogFormat, []string{"auto", "text", "json"}),
		oneOf("quality", c.Quality, video.Qualities),
		c.codecFaults(),
		eachOneOf("default_resolutions", c.Resolutions, video.Names),
		oneOf("max_resolution", c.MaxResolution, video.Names),
		oneOf("hdr", c.HDR, video.HDRs),
		oneOf("copy_source", c.CopySource, video.CopySources),
		oneOf("loudness", c.Loudness, video.Levellings),
		oneOf("encoder", c.Encoder, encode.Accelerators),
		c.audienceFaults(),
		oneOf("sandbox", c.Sandbox, []sandbox.Mode{sandbox.On, sandbox.Off}),
	)
}

// codecFaults finds what is wrong with the codecs beside H.264.
func (c *Config) codecFaults() []string {
	if len(c.Codecs) == 0 {
		return []string{`codecs is empty: it must have at least "h264".`}
	}
	return eachOneOf("codecs", c.Codecs, append([]video.Codec{video.H264}, video.ExtraCodecs...))
}

// defaultResolutions returns the resolutions that are made unless a client names others.
func (c *Config) defaultResolutions() []video.Name {
	return video.Distinct(named[video.Name](c.Resolutions))
}

// codecsBeside returns the codecs that are made beside H.264 unless a client says otherwise.
func (c *Config) codecsBeside() []video.Codec {
	return video.WithoutH264(named[video.Codec](c.Codecs))
}

// hdr returns what becomes of sources in HDR unless a client says otherwise.
func (c *Config) hdr() video.HDR { return video.HDR(c.HDR) }

// copySource says whether the picture of a source may be copied unless a client says otherwise.
func (c *Config) copySource() video.CopySource { return video.CopySource(c.CopySource) }

// levelling returns what becomes of the loudness of the sound unless a client says otherwise.
func (c *Config) levelling() video.Levelling { return video.Levelling(c.Loudness) }

// profiles returns the profiles that clients may choose, and what is wrong with their file.
func (c *Config) profiles() ([]video.Profile, []string) {
	if c.ProfilesFile == "" {
		return nil, nil
	}
	return settings.ReadProfiles(c.ProfilesFile)
}

// profileFaults finds what is wrong with the file of profiles. A worker needs none: their values are stored with the videos.
func (c *Config) profileFaults() []string {
	if !c.servesRequests() {
		return nil
	}
	_, faults := c.profiles()
	return faults
}

// named returns the names of a list in their own type.
func named[T ~string](list []string) []T {
	var all []T
	for _, name := range list {
		all = append(all, T(name))
	}
	return all
}

// eachOneOf returns what is wrong with a setting that lists some of some choices.
func eachOneOf[T ~string](name string, values []string, choices []T) []string {
	var faults []string
	for _, value := range values {
		faults = append(faults, oneOf(name, value, choices)...)
	}
	return faults
}

// oneOf returns what is wrong with a setting that names one of some choices.
func oneOf[T ~string](name, value string, choices []T) []string {
	if slices.Contains(choices, T(value)) {
		return nil
	}
	var words []string
	for _, c := range choices {
		words = append(words, string(c))
	}
	last := len(words) - 1
	return []string{fmt.Sprintf("%s is %q: it must be %s or %s.", name, value, strings.Join(words[:last], ", "), words[last])}
}

// durationFaults returns what is wrong with a duration that must be from low to high.
func durationFaults(name string, d, low, high time.Duration) []string {
	if d < low || d > high {
		return []string{fmt.Sprintf("%s is %s: it must be from %s to %s.", name, d, low, high)}
	}
	return nil
}

func signedLifeFaults(d time.Duration) []string {
	return durationFaults("max_signed_life", d, time.Minute, auth.MaxSignedLife)
}

func (c *Config) rangeFaults() []string {
	var faults []string
	duration := func(name string, d, low, high time.Duration) {
		faults = append(faults, durationFaults(name, d, low, high)...)
	}
	number := func(name string, n, high int) {
		if n < 0 || n > high {
			faults = append(faults, fmt.Sprintf("%s is %d: it must be from 0 to %d.", name, n, high))
		}
	}
	duration("upload_url_ttl", c.UploadURLTTL, time.Minute, 7*24*time.Hour)
	duration("resumable_url_ttl", c.ResumableURLTTL, time.Minute, 7*24*time.Hour)
	faults = append(faults, signedLifeFaults(c.MaxSignedLife)...)
	duration("abandoned_after", c.AbandonedAfter, time.Minute, 365*24*time.Hour)
	duration("grace", c.Grace, time.Second, time.Hour)
	duration("drain", c.Drain, 0, c.Grace/2)
	number("workers", c.Workers, 1024)
	number("ffmpeg_nice", c.FFmpegNice, 19)
	number("upload_concurrency", c.UploadConcurrency, 100_000)
	number("max_imports", c.MaxImports, 1000)
	if n := c.RateLimit.PerSecond; !(n >= 0) || n > 1e6 {
		faults = append(faults, fmt.Sprintf("rate_limit is %g: it must be from 0 to 1000000.", n))
	}
	if !(c.MaxUpscale >= 1) || c.MaxUpscale > 100 {
		faults = append(faults, fmt.Sprintf("max_upscale is %g: it must be from 1 to 100.", c.MaxUpscale))
	}
	if !(c.LoudnessTarget >= video.MinLoudness && c.LoudnessTarget <= video.MaxLoudness) { // also no number
		faults = append(faults, fmt.Sprintf("loudness_target is %g: it must be from %g to %g LUFS.", c.LoudnessTarget, video.MinLoudness, video.MaxLoudness))
	}
	size := func(name string, n settings.ByteSize) {
		if n < 1 {
			faults = append(faults, fmt.Sprintf("%s is %d: it must be at least 1.", name, n))
		}
	}
	size("max_upload_bytes", c.MaxUploadBytes)
	size("max_resumable_bytes", c.MaxResumableBytes)
	return faults
}

// minKeyLength is the length of the shortest api_key that is accepted. Below 16 characters, the log
// warns.
const minKeyLength = 8

const howToMakeAKey = `set it to a random one, such as the output of "openssl rand -base64 32", or leave it empty and use "spool keys create"`

// placeholders are values from examples and defaults, in lower case. Some were in files of Spool.
var placeholders = []string{
	"changeme", "change-me", "change_me", "change-me-0123456789", "a-long-random-key", "placeholder",
	"password", "your-api-key", "your_api_key", "yourapikey", "your-api-key-here", "<api_key>", "<api-key>", "<your-api-key>",
	"12345678", "123456789", "1234567890",
}

// keyFaults returns what is wrong with the API key. A worker answers no requests and does not look
// at it, so that what all processes share may name a file which a worker cannot read.
func (c *Config) keyFaults() []string {
	if !c.servesRequests() {
		return nil
	}
	if unread := readSecret("api_key", &c.APIKey, &c.APIKeyFile); len(unread) > 0 {
		return unread
	}
	key := c.APIKey
	switch {
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return []string{"api_key must be printable ASCII without spaces: it travels in an HTTP header."}
	case key == "":
		return nil
	case len(key) < minKeyLength:
		return []string{fmt.Sprintf("api_key has fewer than %d characters and can be guessed: %s.", minKeyLength, howToMakeAKey)}
	case slices.Contains(placeholders, strings.ToLower(key)):
		return []string{fmt.Sprintf("api_key is a placeholder that everybody knows: %s.", howToMakeAKey)}
	}
	return nil
}

// workers returns how many tasks run at once.
func (c *Config) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return runtime.GOMAXPROCS(0) // unlike NumCPU, it respects the limit of a container
}

// tools returns the absolute paths of ffmpeg and ffprobe. Later runs must not depend on
// PATH or on the working directory.
func (c *Config) tools() (ffmpeg, ffprobe string, err error) {
	var faults []string
	find := func(setting, name string) string {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			faults = append(faults, fmt.Sprintf("%s: %s may not be executed. Make it executable (chmod +x), or set the path of another program with --%s.", setting, name, setting))
		case err != nil:
			faults = append(faults, fmt.Sprintf("%s: no program %q was found. Install ffmpeg (on Debian and Ubuntu: apt-get install ffmpeg) or set its path with --%s.", setting, name, setting))
		}
		return path
	}
	ffmpeg, ffprobe = find("ffmpeg", c.FFmpeg), find("ffprobe", c.FFprobe)
	if len(faults) > 0 {
		return "", "", &configError{faults}
	}
	return ffmpeg, ffprobe, nil
}

// configError lists all faults of the settings.
type configError struct{ faults []string }

func (e *configError) Error() string {
	if len(e.faults) == 1 {
		return e.faults[0]
	}
	return fmt.Sprintf("the settings have %d faults:\n  - %s", len(e.faults), strings.Join(e.faults, "\n  - "))
}
