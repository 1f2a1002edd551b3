// SPDX-License-Identifier: Apache-2.0

package enrollment

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

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// Lifetimes of join tokens. A month is sufficient to prepare images and deliver hardware; until then
// a copy of the token can enroll a host as the node. User data contains an Ignition token, which
// HyperShift replaces after five and a half hours at the latest.
const (
	defaultLifetime     = 24 * time.Hour
	maxLifetime         = 30 * 24 * time.Hour
	maxUserDataLifetime = 5 * time.Hour
)

// Options configures a new join token.
type Options struct {
	NodeName  string
	ClusterCA []byte // PEM bundle
	Addresses []netip.Prefix
	Labels    []string // the token contains only those that a kubelet may set
	Taints    []string
	NodePool  string           // "" if unknown
	UserData  []byte           // nil for none
	Cluster   *Cluster         // nil for none; excludes UserData
	Networks  []ClusterNetwork // of the cluster; nil if they are unknown
	Lifetime  time.Duration    // 0: DefaultLifetime, or MaxUserDataLifetime with user data
	Reinstall v1alpha1.ReinstallPolicy
}

// New creates a join token with a new key, and its enrollment.
func New(desired Options, now time.Time) (*Token, *Enrollment, error) {
	if err := desired.check(); err != nil {
		return nil, nil, err
	}
	lifetime, err := desired.lifetime()
	if err != nil {
		return nil, nil, err
	}
	cas, err := CAHashes(desired.ClusterCA)
	if err != nil {
		return nil, nil, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	id := make([]byte, idDigits/2)
	if _, err := rand.Read(id); err != nil {
		return nil, nil, fmt.Errorf("generating a join token ID: %w", err)
	}
	terms := Terms{
		ID:        hex.EncodeToString(id),
		NodeName:  desired.NodeName,
		Expires:   now.Add(lifetime).UTC().Truncate(time.Second),
		ClusterCA: cas,
	}
	t := &Token{
		Terms:    terms,
		Labels:   kubeletLabels(desired.Labels),
		Taints:   desired.Taints,
		UserData: desired.UserData,
		Cluster:  desired.Cluster,
		Networks: desired.Networks,
		key:      private,
	}
	e := t.Enrollment(desired)
	return t, e, checkRoundTrip(t, e)
}

// Enrollment returns the enrollment of the token, with the settings of options that the token does not contain.
func (t *Token) Enrollment(options Options) *Enrollment {
	return &Enrollment{
		Terms: t.Terms, Addresses: options.Addresses, NodePool: options.NodePool, Reinstall: options.Reinstall,
		Labels: options.Labels, Taints: options.Taints, key: t.key.Public().(ed25519.PublicKey),
	}
}

// check checks what an administrator specifies, for messages that do not mention a token.
func (o Options) check() error {
	if err := CheckNodeName(o.NodeName); err != nil {
		return err
	}
	if err := checkList("labels", o.Labels, checkLabel); err != nil {
		return err
	}
	return checkList("taints", o.Taints, checkTaint)
}

func (o Options) lifetime() (time.Duration, error) {
	switch {
	case !utf8.Valid(o.UserData):
		return 0, errors.New("the user data is not valid UTF-8 text")
	case o.Lifetime == 0 && o.UserData != nil:
		return maxUserDataLifetime, nil
	case o.Lifetime == 0:
		return defaultLifetime, nil
	case o.UserData != nil && o.Lifetime > maxUserDataLifetime:
		return 0, fmt.Errorf("a join token with user data can be valid for at most %s, because the user data expires; "+
			"requested: %s", maxUserDataLifetime, o.Lifetime)
	case o.Lifetime < time.Minute, o.Lifetime > maxLifetime:
		return 0, fmt.Errorf("a join token can be valid for 1 minute to %d days (720h), not for %s",
			maxLifetime/(24*time.Hour), o.Lifetime)
	}
	return o.Lifetime, nil
}

// checkRoundTrip parses the encoded token and enrollment, so that New never returns a token that the
// host would refuse.
func checkRoundTrip(t *Token, e *Enrollment) error {
	secret, public, err := encodeBoth(t, e)
	if err != nil {
		return err
	}
	read, err := ParseToken(secret)
	if err == nil && !bytes.Equal(read.UserData, t.UserData) {
		err = errors.New("the user data cannot be encoded as YAML")
	}
	if err == nil {
		_, err = ParseEnrollment(public)
	}
	if err != nil {
		return fmt.Errorf("creating a join token for %q: %w", shorten(t.NodeName), err)
	}
	return nil
}
