package bootstrap

import (
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// WithTicketOf returns c with the labels and taints of its join token, as a join
// uses it. It does not read the state of a recorded join.
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
