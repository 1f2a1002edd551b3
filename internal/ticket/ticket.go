package ticket

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// Ticket is a join token, the part for the host. Its key and its user data are secrets, which no
// formatting verb prints.
type Ticket struct {
	ID        string    // 32 hexadecimal digits
	NodeName  string    // of the only node that can use the token
	Expires   time.Time // UTC, whole seconds
	ClusterCA []Hash    // hashes of the CAs that identify the cluster
	Labels    []string  // key=value, for the Node
	Taints    []string  // key=value:Effect or key:Effect, for the Node
	Stub      []byte    // the NodePool's user data; nil if it is passed separately

	key ed25519.PrivateKey
}

// Claim is an enrollment, the part for the approver. It holds no secret.
type Claim struct {
	ID        string
	NodeName  string
	Expires   time.Time
	ClusterCA []Hash
	Addresses []netip.Addr // allowed in the node's serving certificate; none: manual approval

	key ed25519.PublicKey
}

// ErrExpired is wrapped by the errors for expired tokens and enrollments.
var ErrExpired = errors.New("expired")

// InTime returns an error that wraps ErrExpired if the token has expired.
func (t *Ticket) InTime(now time.Time) error {
	return inTime("ticket", t.ID, t.NodeName, t.Expires, now)
}

// InTime returns an error that wraps ErrExpired if the enrollment has expired.
func (c *Claim) InTime(now time.Time) error { return inTime("claim", c.ID, c.NodeName, c.Expires, now) }

func inTime(kind, id, node string, expires, now time.Time) error {
	if now.Before(expires) {
		return nil
	}
	// The error does not contain now: an approver reports a reason again whenever its text
	// changes.
	return fmt.Errorf("the %s %s of %s %w at %s", kind, id, node, ErrExpired, expires.UTC().Format(time.RFC3339))
}

// String describes the token without its secrets.
func (t Ticket) String() string {
	return fmt.Sprintf("ticket %s of %s, until %s", t.ID, t.NodeName, t.Expires.UTC().Format(time.RFC3339))
}

// Format prints String for every verb of fmt, to keep the secrets out.
func (t Ticket) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalJSON encodes String, to keep the secrets out. Encode includes them.
func (t Ticket) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprintf("%q", t.String())), nil }
