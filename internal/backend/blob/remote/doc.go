// Package remote holds what back ends in other people's buckets have in common,
// whatever their protocol:
//
//   - reading a range of one version of an object over connections that break
//     ([Reader]), an open object on top of that ([Object]), and downloads of all
//     or some of it ([Version.Fetch], [Version.FetchParts]);
//   - sending the parts of one object in parallel ([Parts]);
//   - giving up a request on which no byte moves ([IdleTimeout]), and waiting
//     before the next try ([Backoff]);
//   - letting a request that makes an object visible finish ([CommitContext]);
//   - telling the time by the server's clock ([DateClient]).
//
// A back end implements [RangeGetter] and describes each object that it opens as a
// [Version]. The package knows no provider and has no configuration of its own.
package remote
