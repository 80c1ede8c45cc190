package mail

// Strict returns the server as if it were on another machine.
func (s Server) Strict() Server {
	s.bare = false
	return s
}

// With returns the server with another password.
func (s Server) With(password string) Server {
	s.password = password
	return s
}

// Body returns the body of the message's letter.
func (m Message) Body(operator string) string { return m.letter(operator).Body }
