package ticket

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// Ticket is what a host has. Its key and its stub are secrets: it is never
// printed with them, whatever prints it.
type Ticket struct {
	ID        string    // 32 hexadecimal digits
	NodeName  string    // of the only node that it is for
	Expires   time.Time // UTC, whole seconds
	ClusterCA []Hash    // of the certificate authorities that the cluster may be known by
	Labels    []string  // key=value, for the Node
	Taints    []string  // key=value:Effect or key:Effect, for the Node
	Stub      []byte    // the NodePool's user-data stub; nil when it is given beside the ticket

	key ed25519.PrivateKey
}

// Claim is what an approver has of a ticket. It holds no secret.
type Claim struct {
	ID        string
	NodeName  string
	Expires   time.Time
	ClusterCA []Hash
	Addresses []netip.Addr // that the node's serving certificate may name; none: a person approves that one

	key ed25519.PublicKey
}

// ErrExpired tells that a ticket or claim is too old.
var ErrExpired = errors.New("expired")

// InTime tells whether a ticket is still good; the error wraps ErrExpired.
func (t *Ticket) InTime(now time.Time) error {
	return inTime("ticket", t.ID, t.NodeName, t.Expires, now)
}

// InTime tells whether a claim is still good; the error wraps ErrExpired.
func (c *Claim) InTime(now time.Time) error { return inTime("claim", c.ID, c.NodeName, c.Expires, now) }

func inTime(kind, id, node string, expires, now time.Time) error {
	if now.Before(expires) {
		return nil
	}
	// Without the time now: an approver tells a reason again only when it is another.
	return fmt.Errorf("the %s %s of %s %w at %s", kind, id, node, ErrExpired, expires.UTC().Format(time.RFC3339))
}

// String names a ticket without its secrets.
func (t Ticket) String() string {
	return fmt.Sprintf("ticket %s of %s, until %s", t.ID, t.NodeName, t.Expires.UTC().Format(time.RFC3339))
}

// Format keeps the secrets out of every verb of fmt.
func (t Ticket) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalJSON keeps the secrets out of JSON; Encode writes them.
func (t Ticket) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", t.String())), nil }
