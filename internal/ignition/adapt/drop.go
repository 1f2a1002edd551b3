// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// excludeRules returns one rule for each pattern of the administrator. Patterns match absolute
// paths, UNIT, or UNIT/DROP-IN. These rules precede all others.
func excludeRules(patterns []string, hosted bool) []rule {
	var list []rule
	for _, pattern := range patterns {
		reason := fmt.Sprintf("excluded by payload.drop, pattern %q", pattern)
		if !hosted {
			reason += "; the machine-config-daemon of this cluster detects the difference and degrades the pool"
		}
		kind := kindUnit
		switch {
		case strings.HasPrefix(pattern, "/"):
			kind = kindFile
		case strings.Contains(pattern, "/"):
			kind = kindDropin
		}
		list = append(list, rule{
			Name: excludeRuleName, Kind: kind, Match: []string{pattern}, Effect: effectSkip, Reason: reason,
		})
	}
	return list
}

const excludeRuleName = "payload-drop"

// excludableNames returns the names in a payload that patterns are matched against: paths, units, and
// UNIT/DROP-IN.
func excludableNames(payload *ignition.Payload) []string {
	var names []string
	for _, node := range entries.Nodes(payload.Config.Storage) {
		names = append(names, node.Path)
	}
	for _, u := range payload.Config.Systemd.Units {
		names = append(names, u.Name)
		for _, dropin := range u.Dropins {
			names = append(names, u.Name+"/"+dropin.Name)
		}
	}
	return names
}

// checkExclusions returns an error if a pattern excludes an entry without which the host cannot
// become a node.
func checkExclusions(patterns []string, kubelet ignition.KubeletConfig) error {
	for _, needed := range []struct{ name, why string }{
		{kubeletUnit, "it runs the node"},
		{ignition.BootstrapKubeconfigPath, "the node requests its client certificate with it"},
		{ignition.KubeletConfigPath, "kubelet requires it to start"},
		{kubelet.Authentication.X509.ClientCAFile, "kubelet requires it to start"},
	} {
		for _, pattern := range patterns {
			if needed.name != "" && config.MatchPath(pattern, needed.name) {
				return report.Fail(report.Usage,
					"# use a narrower pattern; to change the entry instead of excluding it, use --ignition-override",
					"payload.drop pattern %q would exclude %s: %s", pattern, needed.name, needed.why)
			}
		}
	}
	return nil
}

func isExcluded(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return config.MatchPath(pattern, name) })
}

// noteUnusedPatterns adds a note for each pattern that matches nothing. Such a pattern is usually a typing
// error, and the unwanted file is written.
func (p *planner) noteUnusedPatterns() {
	names := excludableNames(p.payload)
	for _, pattern := range p.in.Exclude {
		if slices.ContainsFunc(names, func(name string) bool { return config.MatchPath(pattern, name) }) {
			continue
		}
		reason := "the payload.drop pattern matches no path, unit or UNIT/DROP-IN of the payload"
		if strings.HasPrefix(pattern, unitDirectory+"/") {
			reason += "; specify units without a path"
		}
		p.plan.addReport("pattern "+pattern, excludeRuleName, reason)
	}
}
