package httpd

import "time"

// SetDrain replaces drainTime.
func (s *Server) SetDrain(d time.Duration) { s.drain = d }
