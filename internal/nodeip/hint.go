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
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
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
	content, err := readUnit(unitFile)
	return prefersIPv6(content), err
}

// readUnit returns the content of a unit of the payload, "" if it does not exist.
func readUnit(file string) (string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(content), wrap.Errorf(err, "reading the unit of the payload")
}

// kubeletUnitFile is kubelet's unit of the payload. In a dual-stack cluster, kubelet gets the addresses of both
// families (machine-config-operator, templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml).
const kubeletUnitFile = "/etc/systemd/system/kubelet.service"

// UsesIPv6 reports whether a node of the payload's cluster has an IPv6 address.
func UsesIPv6() (bool, error) {
	content, err := readUnit(kubeletUnitFile)
	if err != nil || isDualStack(content) {
		return err == nil, err
	}
	return PrefersIPv6()
}

func isDualStack(kubeletUnit string) bool {
	return hasWord(kubeletUnit, "--node-ip=${KUBELET_NODE_IPS}")
}

func prefersIPv6(unit string) bool { return hasWord(unit, "--prefer-ipv6") }

// hasWord reports whether a line of a unit that is no comment has the word.
func hasWord(unit, word string) bool {
	return slices.ContainsFunc(strings.Split(unit, "\n"), func(line string) bool {
		return !strings.HasPrefix(strings.TrimSpace(line), "#") && slices.Contains(strings.Fields(line), word)
	})
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
