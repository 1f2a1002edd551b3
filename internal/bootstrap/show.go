package bootstrap

import (
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// WithTicketOf gives a configuration with what its ticket adds, as a join has
// it. Nothing of a join that has begun is read.
func WithTicketOf(c config.Join, stdin io.Reader) (config.Join, error) {
	if c.Ticket == "" {
		return c, nil
	}
	content, err := readInput(c.Ticket, stdin, "--ticket")
	if err != nil {
		return c, err
	}
	t, err := parseTicket(content)
	if err != nil {
		return c, err
	}
	return withTicket(c, t), nil
}
