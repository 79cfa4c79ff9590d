package audience

import "log/slog"

// Clean removes what is old.
var Clean = (*Service).clean

// AgentOf is what a user agent says.
var AgentOf = agentOf

// Refresh looks for a newer file with countries.
func Refresh(s *Service, log *slog.Logger) { s.places.refresh(log) }
