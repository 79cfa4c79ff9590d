// Package stream serves HLS and DASH: the names of a stream's files, the
// playlists, and the segments. None of them is stored. They are generated when
// they are requested, from the index of the rendition file that can also be
// downloaded, so a video that was published before there were streams has them,
// too.
//
// Audio is a rendition of its own rather than a part of each: a player that
// switches the resolution keeps the audio it has, DASH players expect it, and
// its bytes are fetched once. Muxed segments would have saved one of two
// requests every four seconds.
//
// Segments of all renditions begin at the same times (see package mp4), so a
// player may take each from another rendition. EXTINF is the difference of
// rounded ends, so that rounding errors do not add up. BANDWIDTH is the peak of
// any segment, headers included, of video plus audio.
//
// Playlists are pure functions of a Presentation, which says what each track is and
// which segments it has so far. A video that is still being encoded is presented
// alike, with Growing playlists; names and lengths of segments depend on nothing that
// is known at the end only, and neither does the target duration.
package stream
