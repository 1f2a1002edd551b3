// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

// HintFile is the file in which administrators set NODEIP_HINT for
// nodeip-configuration.service.
const HintFile = "/etc/default/nodeip-configuration"

// ReadHint returns the hint of HintFile, "" where there is none.
func ReadHint() (string, error) {
	content, err := os.ReadFile(HintFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading NODEIP_HINT: %w", err)
	}
	values := hostinfo.ParseEnv(content)
	if hint := values["NODEIP_HINT"]; hint != "" {
		return hint, nil
	}
	return values["KUBELET_NODEIP_HINT"], nil
}

// unitFile is the unit of the payload that the agent replaces. Its option states which family of the cluster is the
// first one (machine-config-operator, templates/common/_base/units/nodeip-configuration.service.yaml).
const unitFile = "/etc/systemd/system/nodeip-configuration.service"

// PrefersIPv6 reports whether IPv6 is the first family of the payload's cluster.
func PrefersIPv6() (bool, error) {
	content, err := os.ReadFile(unitFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("reading the unit of the payload: %w", err)
	}
	return prefersIPv6(string(content)), nil
}

// kubeletUnitFile is kubelet's unit of the payload. In a dual-stack cluster, kubelet gets the addresses of both
// families (machine-config-operator, templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml).
const kubeletUnitFile = "/etc/systemd/system/kubelet.service"

// UsesIPv6 reports whether a node of the payload's cluster has an IPv6 address.
func UsesIPv6() (bool, error) {
	content, err := os.ReadFile(kubeletUnitFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("reading the unit of the payload: %w", err)
	}
	if isDualStack(string(content)) {
		return true, nil
	}
	return PrefersIPv6()
}

func isDualStack(kubeletUnit string) bool {
	for line := range strings.Lines(kubeletUnit) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, "--node-ip=${KUBELET_NODE_IPS}") {
			return true
		}
	}
	return false
}

func prefersIPv6(unit string) bool {
	for line := range strings.Lines(unit) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") && slices.Contains(strings.Fields(line), "--prefer-ipv6") {
			return true
		}
	}
	return false
}

// MatchesHint reports whether a subnet contains one of the hint's addresses,
// which are separated by commas or blanks.
func MatchesHint(subnet netip.Prefix, hint string) bool {
	for _, text := range strings.Fields(strings.ReplaceAll(hint, ",", " ")) {
		if address, err := netip.ParseAddr(text); err == nil && subnet.Contains(address) {
			return true
		}
	}
	return false
}
