// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const idDigits = 32 // of 16 random bytes

func checkID(id string) error {
	if _, err := hex.DecodeString(id); err != nil || len(id) != idDigits || id != strings.ToLower(id) {
		return fmt.Errorf("%q is not %d hexadecimal digits", shorten(id), idDigits)
	}
	return nil
}

// CheckNodeName returns an error if Kubernetes does not allow the name for a node. A node name is
// also the value of a label, so it has at most 63 characters.
func CheckNodeName(name string) error {
	if len(name) > 63 || !isSubdomain(name) {
		return fmt.Errorf("%q is not a valid node name (at most 63 lowercase letters, digits, - and .)", shorten(name))
	}
	return nil
}

// maxSecretName is the maximum length of the name of a Secret.
const maxSecretName = 253

// isSubdomain reports whether text is a DNS subdomain (RFC 1123), without its limit of the length.
func isSubdomain(text string) bool {
	subdomain := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	return subdomain.MatchString(text)
}

// CheckAddress returns an error if the address cannot identify a node.
func CheckAddress(address netip.Addr) error {
	switch {
	case !address.IsValid(), address.Zone() != "", address.Is4In6():
		return fmt.Errorf("%q is not a plain IPv4 or IPv6 address", address)
	case address.IsLoopback(), address.IsUnspecified(), address.IsMulticast(), address.IsLinkLocalUnicast():
		return fmt.Errorf("other machines cannot reach a node at %s", address)
	}
	return nil
}

const maxItems = 64 // of addresses, labels or taints

// checkList checks each element of a list, and that the list has no duplicates.
func checkList(name string, list []string, check func(string) error) error {
	if len(list) > maxItems {
		return fmt.Errorf("%s: %d entries; at most %d are allowed", name, len(list), maxItems)
	}
	for i, text := range list {
		if err := check(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if slices.Contains(list[:i], text) {
			return fmt.Errorf("%s: duplicate entry %q", name, text)
		}
	}
	return nil
}

// isSetting reports whether the API server accepts the key and the value in key=value on a Node.
func isSetting(text string) bool {
	key, value, _ := strings.Cut(text, "=")
	return len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0
}

func checkLabel(text string) error {
	if !strings.Contains(text, "=") || !isSetting(text) {
		return fmt.Errorf("%q is not a label in the format key=value; a key contains letters, digits, -, _, . and one /",
			shorten(text))
	}
	return nil
}

func checkTaint(text string) error {
	setting, effect, _ := strings.Cut(text, ":")
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	if !isSetting(setting) || !slices.Contains(effects, corev1.TaintEffect(effect)) {
		return fmt.Errorf("%q is not a taint in the format key=value:Effect (effects: NoSchedule, PreferNoSchedule, "+
			"NoExecute)", shorten(text))
	}
	return nil
}

var errInvalidKey = errors.New("not a single Ed25519 key in PEM format")
