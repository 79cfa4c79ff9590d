// Package scale measures what docs/scale.md tells: how a large fleet behaves on
// the real queues, and what one database carries. It has tests only.
//
// The simulation runs tasks that do nothing but wait for a clock that the test
// turns. The queues, their statements and their databases are the real ones, and
// the tasks are those that the pipeline enqueues; only the work itself, and the
// time that it takes, are made up.
package scale
