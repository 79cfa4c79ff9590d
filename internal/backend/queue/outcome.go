package queue

// Outcome is how a run of a task ended.
type Outcome string

const (
	OutcomeDone      Outcome = "done"      // the work is done, or known to be pointless
	OutcomeFailed    Outcome = "failed"    // it will be tried again
	OutcomeGivenUp   Outcome = "given_up"  // it will not be tried again: the file is to blame, or nobody knows
	OutcomeCancelled Outcome = "cancelled" // nobody wants it any more
	OutcomeStopped   Outcome = "stopped"   // the process shuts down; it goes on after the next start
)
