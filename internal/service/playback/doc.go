// Package playback opens the files that people play: rendition files, thumbnails, other files that a
// video lists, and the HLS and DASH files over them.
//
// A playback address names its file. In which folder that lies, and on which sites it may
// be played, is in the database, which is asked every two
// seconds at most; while it does not answer, what was known last is used. The list of renditions also
// asks for the languages and labels of captions, and does without them. The storage is asked at
// every request whether the object is there, so a deletion takes effect at once. Only when there is
// nothing does the database say why.
//
// # HLS and DASH
//
// The files of a stream are made when they are asked for, from the rendition files themselves. No
// second copy of anything is stored, and videos published before there were streams have them too.
// The movie box of a rendition file comes first; from its sample tables a segment's headers are made,
// and the media bytes are read from the file as they are sent. What is in memory is the index
// of a rendition file under its key and ETag. It is never served without its
// rendition file.
//
// The audio of all rendition files of a video is the same, so it is a track of its own: a player
// that changes the resolution keeps the audio it has, and the bytes are fetched once. It is read from
// the smallest rendition file that has any, where the fewest other bytes lie between.
//
// Neither playlists nor segments exist as objects in a bucket, so they are always served from this
// process, also where rendition files are redirected to the storage.
//
// Playlists and the segments of captions are made for clients that read them, once for all, and kept in
// memory for a while. Their ETags are versions of what they are made from. What a client makes the process
// compute, and what it does not read, counts for its address (limit.Turn).
//
// # While a video is encoded
//
// While a video is encoded, the same files are made from the parts that are done. Only the database knows
// which parts are done, so it is asked at every such request: a deletion takes effect at once here, too. A segment is the same, to the byte, as in the
// finished file (mp4.GrowingVideo), so players do not notice when the file takes over and the parts are
// removed.
//
// # A slow storage
//
// A storage that does not answer within openTimeout is unavailable. Work can wait for it; a viewer
// cannot. An open file has no such limit: it needs its context for as long as a viewer watches.
package playback
