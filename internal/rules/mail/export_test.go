package mail

// Strict returns the server as if it were on another machine.
func (s Server) Strict() Server {
	s.bare = false
	return s
}
