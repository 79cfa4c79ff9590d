// Package mp4 builds the MP4 of a rendition from the chunk files that were
// encoded in parallel: one progressive file, moov first, written in one pass. It
// owns the timeline and the layout of that file; it never decodes a frame and
// never holds media bytes. Boxes are read and written by mp4ff; this package
// knows sample tables only.
//
// Each chunk file is an ordinary MP4 whose edit list carries its place on the
// timeline, so nothing is added up. Assemble takes the presentation times of all
// frames, sorts them, and derives the decode times from the sorted list with one
// constant shift. Whatever the B-frame delay of a chunk was, decode times
// increase across every join and presentation times equal the source's.
// Verify reads the finished file back before it is published.
//
// For HLS and DASH nothing is stored: ReadIndex reads the movie box of a
// rendition file, and Segments.Segment makes the moof and the header of mdat for
// a segment, and names the bytes of the file that follow. Segments begin at the
// first keyframe of each four seconds, which is at the same frames in all
// renditions. The edit list goes into the init segment with its media time (the
// delay of B-frames and of the audio encoder) and a duration of zero, which
// means all that follows. A delay before the first frame, which browsers ignore
// in edit lists, is added to tfdt instead.
package mp4
