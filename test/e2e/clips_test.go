package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Sources that ffmpeg makes up: a moving picture with a clock in it, and a tone.
const (
	smallClip  = "small.mp4"  // 256x192, 1.2 s, 10 fps, with audio: for tests that count frames
	miniClip   = "mini.mp4"   // 160x120, half a second, with audio: for tests that are not about frames
	blurClip   = "blur.mp4"   // 1280x720, 1 s, 5 fps, silent, without any detail
	softClip   = "soft.mp4"   // 640x360, 2 s, 25 fps, silent, out of focus
	hdrClip    = "hdr.mp4"    // 320x180, 1 s, PQ in BT.2020, silent
	songClip   = "song.mp3"   // 20 s, silent but for the seconds 5 and 15, with a cover of 300x240
	tinyClip   = "tiny.mp4"   // 640x360, 2 s, 25 fps, with audio
	middleClip = "middle.mp4" // 640x360, 8 s, 25 fps, with audio
	chunksClip = "chunks.mp4" // 160x120, 36 s, 10 fps, with audio that is mostly silent: four chunks
	longClip   = "long.mp4"   // 160x120, 65 s, 5 fps, open GOPs and B-frames, with audio that is mostly silent: several chunks
	earlyClip  = "early.mp4"  // 520x500, 64 s, 4 fps, the fewest that a film played early may have, a keyframe every two seconds, audio of 44.1 kHz that is mostly silent

	goodClip = "good.mp4" // 320x180, 26 s, 25 fps, keyframes at any time, with audio: it plays everywhere as it is

	redClip  = "red.mp4"  // 160x120, 80 s, 5 fps, silent, all red
	blueClip = "blue.mp4" // the same in blue

	rotatedClip    = "rotated.mp4"    // the fast one, held upright: to be turned by 90 degrees
	anamorphicClip = "anamorphic.mp4" // 720x576 pixels that show as 16:9
	variableClip   = "variable.mkv"   // frames at uneven times
	fastClip       = "fast.mp4"       // 50 frames a second
	silentClip     = "silent.mp4"     // without audio
	ladenClip      = "laden.mov"      // with timecode, place, title, cover picture and mono audio
	clapClip       = "clap.mp4"       // black and silent, until at second 1 it is neither
	lateClip       = "late.mkv"       // the same, with audio that exists only from second 0.5
	stillClip      = "still.mp4"      // a single picture, without audio
	cutClip        = "cut.mp4"        // begins in the middle by its edit list, and has more audio than frames
	streamClip     = "stream.ts"      // the same as a transport stream, whose clock does not begin at 0
)

// recipes say how clips are made: the arguments of ffmpeg before the output. @
// stands before the name of another clip.
var recipes = map[string]string{
	blurClip: "-f lavfi -i testsrc2=size=1280x720:rate=5,gblur=16 -t 1 -c:v libx264 -preset ultrafast -crf 10 -pix_fmt yuv420p",
	softClip: "-f lavfi -i testsrc2=size=640x360:rate=25,gblur=5 -t 2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p",
	smallClip: "-f lavfi -i testsrc2=size=256x192:rate=10 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 1.2 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	miniClip: "-f lavfi -i testsrc2=size=160x120:rate=10 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 0.5 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	hdrClip: "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -vf format=yuv420p10le,setparams=range=tv:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084 " +
		"-c:v libx265 -preset ultrafast -tag:v hvc1 -x265-params log-level=error",
	songClip: "-f lavfi -i aevalsrc='0.5*sin(2764*t)*eq(floor(mod(t,10)),5)':s=44100:d=20 -f lavfi -i color=red:size=300x240:rate=1:d=1 -map 0:a -map 1:v " +
		"-frames:v 1 -c:v mjpeg -pix_fmt yuvj420p -disposition:v attached_pic -c:a libmp3lame -b:a 64k -id3v2_version 3",
	tinyClip: "-f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 2 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	middleClip: "-f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 8 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	chunksClip: "-f lavfi -i testsrc2=size=160x120:rate=10 -f lavfi -i sine=frequency=440:sample_rate=48000,volume=0:enable='gte(mod(t,10),0.5)' -t 36 " +
		"-c:v libx264 -preset ultrafast -g 20 -pix_fmt yuv420p -c:a aac",
	longClip: "-f lavfi -i testsrc2=size=160x120:rate=5 -f lavfi -i sine=frequency=440:sample_rate=48000,volume=0:enable='gte(mod(t,10),0.5)' -t 65 " +
		"-c:v libx264 -preset veryfast -bf 3 -g 10 -x264-params open-gop=1 -pix_fmt yuv420p -c:a aac",
	earlyClip: "-f lavfi -i testsrc=size=520x500:rate=4 -f lavfi -i sine=frequency=440:beep_factor=4:sample_rate=44100,volume=0:enable='gte(mod(t,10),0.5)' -t 64 " +
		"-c:v libx264 -preset ultrafast -g 8 -pix_fmt yuv420p -video_track_timescale 10240 -c:a aac",

	goodClip: "-f lavfi -i testsrc=size=320x180:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 26 " +
		"-c:v libx264 -preset ultrafast -crf 30 -bf 2 -pix_fmt yuv420p -g 500 -sc_threshold 0 -force_key_frames 0,1.24,3.96,4.2,7.88,8.0,8.52,9.92,16.4,25.2 -c:a aac",

	redClip:  "-f lavfi -i color=red:size=160x120:rate=5 -t 80 -c:v libx264 -preset ultrafast -g 10 -pix_fmt yuv420p",
	blueClip: "-f lavfi -i color=blue:size=160x120:rate=5 -t 80 -c:v libx264 -preset ultrafast -g 10 -pix_fmt yuv420p",

	rotatedClip: "-i @" + fastClip + " -c copy -metadata:s:v:0 rotate=90",
	anamorphicClip: "-f lavfi -i testsrc2=size=720x576:rate=25 -vf setsar=64/45 -t 1 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p",
	variableClip: "-f lavfi -i testsrc2=size=320x180:rate=30 -f lavfi -i sine=frequency=440 -t 2 " +
		"-vf select='lt(n,20)+not(mod(n,3))+not(mod(n,7))' -vsync vfr -c:v libx264 -preset veryfast -bf 2 -pix_fmt yuv420p -c:a libopus",
	fastClip: "-f lavfi -i testsrc2=size=320x180:rate=50 -f lavfi -i sine=frequency=440 -t 2 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	silentClip: "-f lavfi -i testsrc2=size=320x180:rate=25 -t 1 -c:v libx264 -preset ultrafast -pix_fmt yuv420p",
	ladenClip: "-f lavfi -i testsrc2=size=320x180:rate=25:duration=1 -f lavfi -i sine=frequency=440:sample_rate=44100:duration=1 " +
		"-f lavfi -i color=red:size=64x64:rate=1:duration=1 -map 0:v -map 1:a -map 2:v -c:v:0 libx264 -preset ultrafast -pix_fmt:v:0 yuv420p " +
		"-c:v:1 mjpeg -pix_fmt:v:1 yuvj420p -disposition:v:1 attached_pic -c:a pcm_s16le -ac 1 -timecode 01:00:00:00 " +
		"-metadata title=secret-title -metadata comment=secret-comment -metadata location=+52.5163+013.3777/",
	clapClip: "-f lavfi -i color=white:size=320x180:rate=25 -f lavfi -i aevalsrc='if(gte(t,1),sin(2764*t),0)':s=48000 -t 2 " +
		"-vf drawbox=c=black:t=fill:enable='lt(t,1)' -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	lateClip:   "-i @" + clapClip + " -ss 0.5 -i @" + clapClip + " -map 0:v -map 1:a -c:v copy -c:a pcm_s16le -af asetpts=PTS+0.5/TB",
	stillClip:  "-f lavfi -i testsrc2=size=320x180:rate=25 -frames:v 1 -c:v libx264 -preset ultrafast -pix_fmt yuv420p",
	cutClip:    "-ss 0.7 -t 4.3 -i @" + middleClip + " -filter_complex [0:a]apad=whole_dur=6[a] -map 0:v -map [a] -c:v copy -c:a aac",
	streamClip: "-i @" + clapClip + " -c:v copy -c:a mp2 -muxdelay 3",
}

// clip returns the path of a clip by its name in recipes.
func clip(t testing.TB, name string) string {
	t.Helper()
	recipe, ok := recipes[name]
	if !ok {
		t.Fatalf("no clip is called %q", name)
	}
	args := strings.Fields(recipe)
	for i, arg := range args {
		if other, found := strings.CutPrefix(arg, "@"); found {
			args[i] = clip(t, other)
		}
	}
	path := filepath.Join(lab.dir, name)
	if err := lab.clips.Once(name, func() error { return runFFmpeg(append(args, path)...) }); err != nil {
		t.Fatalf("make clip %s: %v", name, err)
	}
	return path
}

// runFFmpeg runs ffmpeg to its end; the error carries what it said.
func runFFmpeg(args ...string) error {
	_, err := output("ffmpeg", append([]string{"-nostdin", "-hide_banner", "-v", "error", "-y"}, args...)...)
	return err
}

// output runs a program and returns what it printed.
func output(name string, args ...string) (string, error) {
	printed, _, err := run(name, args...)
	return printed, err
}

// run runs a program and returns what it printed and what it said on stderr.
func run(name string, args ...string) (printed, said string, err error) {
	cmd := exec.Command(name, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", "", &toolError{name: name, err: err, said: stderr.String()}
	}
	return stdout.String(), stderr.String(), nil
}

// toolError is a program that failed.
type toolError struct {
	name, said string
	err        error
}

func (e *toolError) Error() string { return e.name + ": " + e.err.Error() + ": " + e.said }

func (e *toolError) Unwrap() error { return e.err }
