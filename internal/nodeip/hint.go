// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

// HintFile is the file in which administrators set NODEIP_HINT for
// nodeip-configuration.service.
const HintFile = "/etc/default/nodeip-configuration"

// ReadHint returns the hint of HintFile, "" where there is none. It also reads the variables that drop-ins of the
// payload's unit set, and other files that they name.
func ReadHint() (string, error) { return readHint(unitFile, HintFile) }

func readHint(unitFile, hintFile string) (string, error) {
	unit, err := readUnit(unitFile)
	if err != nil {
		return "", err
	}
	files, isSet := unit["EnvironmentFile"]
	if !isSet { // the unit does not exist yet
		files = []string{hintFile}
	}
	values := map[string]string{}
	for _, line := range unit["Environment"] {
		maps.Copy(values, hostinfo.ParseEnv([]byte(strings.Join(systemd.SplitWords(line), "\n"))))
	}
	for _, file := range files {
		found, err := filepath.Glob(strings.TrimPrefix(file, "-"))
		if err != nil {
			return "", fmt.Errorf("reading NODEIP_HINT: %w", err)
		}
		for _, path := range found {
			content, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("reading NODEIP_HINT: %w", err)
			}
			maps.Copy(values, hostinfo.ParseEnv(content))
		}
	}
	return cmp.Or(values["NODEIP_HINT"], values["KUBELET_NODEIP_HINT"]), nil
}

// unitFile is the unit of the payload that the agent replaces. Its option states which family of the cluster is the
// first one (machine-config-operator, templates/common/_base/units/nodeip-configuration.service.yaml).
const unitFile = "/etc/systemd/system/nodeip-configuration.service"

// PrefersIPv6 reports whether IPv6 is the first family of the payload's cluster.
func PrefersIPv6() (bool, error) {
	unit, err := readUnit(unitFile)
	return prefersIPv6(unit), err
}

// unitSettings contains the values of the settings of a unit, regardless of the sections.
type unitSettings map[string][]string

// readUnit returns the settings of a unit of the payload and its drop-ins, none if it does not exist.
func readUnit(file string) (unitSettings, error) {
	dropIns, _ := filepath.Glob(file + ".d/*.conf") // the pattern is valid
	settings := unitSettings{}
	for _, path := range append([]string{file}, dropIns...) {
		content, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading the unit of the payload: %w", err)
		}
		settings.add(string(content))
	}
	return settings, nil
}

// add adds the settings in the content of a file. An empty value removes the values before it.
func (u unitSettings) add(content string) {
	for _, option := range systemd.ParseOptions(content) {
		if option.Value == "" {
			u[option.Name] = nil
		} else {
			u[option.Name] = append(u[option.Name], option.Value)
		}
	}
}

// kubeletUnitFile is kubelet's unit of the payload. In a dual-stack cluster, kubelet gets the addresses of both
// families (machine-config-operator, templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml).
const kubeletUnitFile = "/etc/systemd/system/kubelet.service"

// UsesIPv6 reports whether a node of the payload's cluster has an IPv6 address.
func UsesIPv6() (bool, error) {
	unit, err := readUnit(kubeletUnitFile)
	if err != nil || isDualStack(unit) {
		return err == nil, err
	}
	return PrefersIPv6()
}

func isDualStack(kubelet unitSettings) bool { return kubelet.runs("--node-ip=${KUBELET_NODE_IPS}") }

func prefersIPv6(unit unitSettings) bool { return unit.runs("--prefer-ipv6") }

// runs reports whether a command of the unit has the word.
func (u unitSettings) runs(word string) bool {
	return slices.ContainsFunc(u["ExecStart"], func(command string) bool {
		return slices.Contains(strings.Fields(command), word)
	})
}

// HasAddress reports whether a hint contains an IP address. Anything else, such as a network, has no effect.
func HasAddress(hint string) bool {
	return MatchesHint(netip.PrefixFrom(netip.IPv4Unspecified(), 0), hint) ||
		MatchesHint(netip.PrefixFrom(netip.IPv6Unspecified(), 0), hint)
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
