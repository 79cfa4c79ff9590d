// Package webhook tells tenants what happens to their videos: it owns their webhooks, and delivers
// events to them.
//
// # Recording
//
// Whatever changes the status of a video emits an event (store.Store.OnEvents). It is recorded in the same
// transaction, with the video as it is then and one delivery for each webhook that wants it. From there on an event can be late,
// but neither lost nor wrong.
//
// # Delivering
//
// The processes that answer requests deliver. Workers run ffmpeg on files of strangers: they need no
// way to the internet, and cannot read the secrets. Each delivery is a task of the queue's network
// lane, enqueued in the transaction that records it, and a failed try is repeated by the queue after
// the pauses of this package. A delivery and its task end in the same transaction. So an
// event arrives at least once, and its id is always the same. A replay is a new task; one from before
// it finds that it is outdated.
//
// # Fairness
//
// Deliveries to one webhook share places of the lane (see package queue), so one with a million of
// deliveries waits for its own, and one that does not answer takes no place that others need.
//
// # Fetching
//
// A webhook without an address holds its events until they are fetched, for example by a developer
// whose machine has no public address (spool webhooks listen). The outcome that is reported for each
// has the same consequences as the outcome of a request.
package webhook
