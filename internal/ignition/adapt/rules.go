// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	_ "embed" // table.yaml
	"slices"
	"sync"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

//go:embed table.yaml
var tableYAML []byte

// table is the content of table.yaml.
type table struct {
	Rules     []rule `json:"rules"`
	Platforms []struct {
		Platform string `json:"platform"`
		Name     string `json:"name"`
	} `json:"platforms"`
	UnitPackages map[string]string `json:"unitPackages"`
	Extensions   map[string]string `json:"extensions"`
	KernelTypes  map[string]string `json:"kernelTypes"`
}

// readTable returns the table. The caller must not change it.
var readTable = sync.OnceValues(func() (t table, err error) {
	err = yaml.UnmarshalStrict(tableYAML, &t)
	return t, wrap.Errorf(err, "reading the table of rules")
})

// entryKind is a kind of entry that rules apply to.
type entryKind string

const (
	kindFile   entryKind = "file"    // matched by path; also directories and links
	kindUnit   entryKind = "unit"    // matched by name
	kindDropin entryKind = "drop-in" // matched by UNIT/DROP-IN
	kindUser   entryKind = "user"    // matched by name
	kindHost   entryKind = "host"    // the host as a whole; matches no entry of the payload
)

// effect is the effect of a rule on an entry.
type effect string

const (
	effectSkip            effect = "skip"
	effectRemove          effect = "remove"            // the host must not have the entry, either
	effectOwnerOnly       effect = "owner-only"        // readable only by the owner
	effectInstallOnly     effect = "install-only"      // the files of a unit are written, but the unit is not enabled
	effectNothingToEnable effect = "nothing-to-enable" // as effectInstallOnly; enabling would have no effect
	effectKeysOnly        effect = "keys-only"         // an account of the host, of which only the SSH keys change
	effectReport          effect = "report"
	effectAdd             effect = "add" // the agent adds files
)

// keepsDisabled reports whether a unit is not enabled even if the payload enables it.
func (e effect) keepsDisabled() bool { return e == effectInstallOnly || e == effectNothingToEnable }

// action returns the action of a note about the effect.
func (e effect) action() Action {
	switch e {
	case effectSkip:
		return Skip
	case effectRemove, effectOwnerOnly, effectInstallOnly, effectKeysOnly:
		return Change
	case effectAdd:
		return Add
	}
	return Report
}

// A rule is a rule of table.yaml, which describes the fields.
type rule struct {
	Name   string       `json:"name"`
	Kind   entryKind    `json:"kind"`
	Match  []string     `json:"match"`
	When   []string     `json:"when"`
	Effect effect       `json:"effect"`
	Reason string       `json:"reason"`
	Group  bool         `json:"group"`
	Images bool         `json:"images"`
	Loader configLoader `json:"loader"`
}

// configLoader is a service that loads files of the payload.
type configLoader struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"` // "" for none
	Reason string `json:"reason"`
}

// isMet reports whether the conditions of the rule are met.
func (r *rule) isMet(p *planner, about subject) bool {
	return !slices.ContainsFunc(r.When, func(name string) bool { return !conditions[name](p, about) })
}

// details are the parts of a rule that are not in table.yaml.
type details struct {
	add    func(p *planner, u types.Unit) []ledger.Change // returns additional files
	remedy report.Remedy                                  // for the administrator
}

// ruleDetails returns the details of rules, by name.
func ruleDetails() map[string]details {
	return map[string]details{
		"ovs-configuration-old":    {add: replaceWithClearRemote},
		"ovs-configuration-remote": {add: clearRemoteBeforeStart},
		"api-address":              {add: runStopBeforeStart},
		"kernel-parameters":        {add: nodeSysctls},
		"journal":                  {add: persistentJournal},
		"image-updates":            {add: disableImageUpdates},
		"kubelet-identity":         {add: holdKubelet},
		"ifcfg-profiles": {
			remedy: "nmcli connection migrate # if the host has profiles in /etc/sysconfig/network-scripts",
		},
	}
}
