package queue

// Outcome is how an attempt at a task ended, as workers report and metrics count it.
type Outcome string

const (
	OutcomeDone      Outcome = "done"      // the work is done, or turned out to be unnecessary
	OutcomeFailed    Outcome = "failed"    // it will be tried again
	OutcomeGivenUp   Outcome = "given_up"  // it will not be tried again: the file is to blame, or the cause is unknown
	OutcomeCancelled Outcome = "cancelled" // its result is not wanted any more
	OutcomeStopped   Outcome = "stopped"   // the process shuts down; the task runs again after the next start
)
