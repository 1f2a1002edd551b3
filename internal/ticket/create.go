package ticket

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unicode/utf8"
)

// Lifetimes of join tokens. User data contains an Ignition token, which HyperShift replaces after
// five and a half hours at the latest.
const (
	DefaultTime  = 24 * time.Hour
	MostTime     = 365 * 24 * time.Hour
	MostStubTime = 5 * time.Hour
)

// Wish configures a new join token.
type Wish struct {
	NodeName  string
	ClusterCA []byte // PEM bundle
	Addresses []netip.Addr
	Labels    []string
	Taints    []string
	Stub      []byte        // nil for none
	Lifetime  time.Duration // 0: DefaultLifetime, or MaxUserDataLifetime with user data
}

// New creates a join token with a new key, and its enrollment.
func New(wish Wish, now time.Time) (*Ticket, *Claim, error) {
	lifetime, err := wish.lifetime()
	if err != nil {
		return nil, nil, err
	}
	authorities, err := Authorities(wish.ClusterCA)
	if err != nil {
		return nil, nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	id := make([]byte, idDigits/2)
	if _, err := rand.Read(id); err != nil {
		return nil, nil, fmt.Errorf("making a ticket id: %w", err)
	}
	t := &Ticket{
		ID: hex.EncodeToString(id), NodeName: wish.NodeName, Expires: now.Add(lifetime).UTC().Truncate(time.Second), ClusterCA: authorities,
		Labels: wish.Labels, Taints: wish.Taints, Stub: wish.Stub, key: private,
	}
	c := &Claim{ID: t.ID, NodeName: t.NodeName, Expires: t.Expires, ClusterCA: authorities, Addresses: wish.Addresses, key: public}
	return t, c, readable(t, c)
}

func (w Wish) lifetime() (time.Duration, error) {
	switch {
	case !utf8.Valid(w.Stub):
		return 0, errors.New("the stub is no text")
	case w.Lifetime == 0 && w.Stub != nil:
		return MostStubTime, nil
	case w.Lifetime == 0:
		return DefaultTime, nil
	case w.Stub != nil && w.Lifetime > MostStubTime:
		return 0, fmt.Errorf("a ticket with a stub in it can be good for %s at most, as the stub's token is; %s was asked for", MostStubTime, w.Lifetime)
	case w.Lifetime < time.Minute, w.Lifetime > MostTime:
		return 0, fmt.Errorf("a ticket can be good for one minute to %d days; %s was asked for", MostTime/(24*time.Hour), w.Lifetime)
	}
	return w.Lifetime, nil
}

// readable parses the encoded token and enrollment, so that New never returns a token that the
// host would refuse.
func readable(t *Ticket, c *Claim) error {
	ticket, err := t.Encode()
	if err != nil {
		return err
	}
	claim, err := c.Encode()
	if err != nil {
		return err
	}
	read, err := ParseTicket(ticket)
	if err == nil && !bytes.Equal(read.Stub, t.Stub) {
		err = errors.New("the stub cannot be written as YAML")
	}
	_, claimErr := ParseClaim(claim)
	if err := errors.Join(err, claimErr); err != nil {
		return fmt.Errorf("making a ticket for %q: %w", shorten(t.NodeName), err)
	}
	return nil
}
