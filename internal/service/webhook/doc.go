// Package webhook tells tenants what happens to their videos: it owns their webhooks, and delivers
// events to them.
//
// # Recording
//
// The store records an event in the transaction that changes a status (store.Tx.Emit), with the video
// as it is then and one delivery for each webhook that wants it. From there on an event can be late,
// but neither lost nor wrong.
//
// # Delivering
//
// The processes that answer requests deliver. Workers run ffmpeg on files of strangers: they need no
// way to the internet, and cannot read the secrets. The queue of tasks is theirs, so deliveries have
// a table of their own. A process claims what is due by a lease; if it dies, the delivery is due
// again when the lease ends. So an event arrives at least once, and its id is always the same.
//
// # Fairness
//
// A lane is the deliveries to one webhook. The dispatcher goes from lane to lane and takes the first
// of each, so a webhook with a million of deliveries waits for its own. One that has not yet answered
// well gets one request at a time, and all that fail share a part of the slots: whoever does not
// answer occupies none that others need. A tenant has a limited number of slots, too.
//
// # Removal
//
// A webhook that is removed leaves its log, which may be long, to be removed in small steps (cleanup.go).
//
// # Fetching
//
// A webhook without an address holds its events for somebody who fetches them, such as a developer
// whose machine has no public address (spool webhooks listen). The outcome that is reported for each
// has the same consequences as that of a request.
package webhook
