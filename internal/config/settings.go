// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// EnvironmentPrefix is the prefix of the environment variables of settings. The variable of
// --user-data is HCP_NODE_AGENT_USER_DATA.
const EnvironmentPrefix = "HCP_NODE_AGENT_"

// FlagSet returns flags that are bound to all settings of a join, in the order of the help. They accept
// only valid values. It is the only list of settings.
func FlagSet(j *Join) *pflag.FlagSet {
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&j.UserData, "user-data", j.UserData, "`FILE` with the NodePool's user data, or - for standard input")
	flags.StringVar(&j.Endpoint, "endpoint", j.Endpoint,
		"ignition server `HOST[:PORT]`; overrides the server in the user data")
	flags.StringVar(&j.TokenFile, "token-file", j.TokenFile, "`FILE` with the ignition token")
	flags.StringVar(&j.CAFile, "ca-file", j.CAFile, "`FILE` with the ignition server's CA in PEM format")
	flags.StringVar(&j.NodePool, "nodepool", j.NodePool, "`NAMESPACE/NAME` of the NodePool")
	flags.StringVar(&j.ConfigHash, "config-hash", j.ConfigHash, "`HASH` of the NodePool's target config version")
	flags.StringVar(&j.ConnectTo, "connect-to", j.ConnectTo,
		"connect to `HOST:PORT`; TLS and HTTP still use the name of the endpoint")
	flags.StringSliceVar(&j.IgnitionOverrides, "ignition-override", j.IgnitionOverrides,
		"merge the Ignition config in `FILE` (- for standard input) over the payload; can be repeated")
	flags.StringSliceVar(&j.Payload.Exclude, "payload-drop", j.Payload.Exclude,
		"exclude payload entries that match `PATTERN`: an absolute path, UNIT or UNIT/DROP-IN, with * and a final /**; can "+
			"be repeated")
	flags.StringVar(&j.BridgeInterface, "bridge-interface", j.BridgeInterface,
		"`INTERFACE` to attach to br-ex as its uplink (default: the interface with the default route)")
	flags.StringSliceVar(&j.RequiredEndpoints, "verify-reach", j.RequiredEndpoints,
		"`HOST:PORT` that must be reachable over TCP before the network change (otherwise nothing is changed) and after it "+
			"(otherwise it is rolled back); can be repeated")
	flags.DurationVar((*time.Duration)(&j.NetworkTimeout), "network-timeout", time.Duration(j.NetworkTimeout),
		"roll back the network change if it is not confirmed within `DURATION`, even if the agent is killed")
	flags.BoolVar(&j.IgnorePacketFilter, "ignore-packet-filter", j.IgnorePacketFilter,
		"attach the uplink to br-ex even if the packet filter of the host accepts new SSH connections only on the uplink")
	flags.BoolVar(&j.IgnoreLogins, "ignore-logins", j.IgnoreLogins,
		"apply the payload even if no user could log in to the host with SSH any more")
	flags.StringSliceVar(&j.Labels, "node-label", j.Labels,
		"register the Node with the label `KEY=VALUE`; can be repeated")
	flags.StringSliceVar(&j.Taints, "node-taint", j.Taints,
		"register the Node with the taint `KEY[=VALUE]:EFFECT`; can be repeated")
	flags.StringVar(&j.PauseImage, "pause-image", j.PauseImage,
		"pause `IMAGE` for CRI-O (default: the image of the release)")
	flags.StringVar(&j.ApproveWith, "approve-with", j.ApproveWith,
		"approve this node's two CSRs with `KUBECONFIG` (- for standard input); the kubeconfig is not stored")
	flags.StringVar(&j.JoinToken, "join-token", j.JoinToken,
		"`FILE` with the node's join token, which authenticates the node to the controller: a path, including that of a "+
			"systemd credential, or - for standard input")
	flags.StringVar(&j.OpenShiftRelease, "openshift-release", j.OpenShiftRelease,
		"OpenShift `RELEASE` of the NodePool, such as 4.18, if it cannot be read from the OS image of the payload")
	flags.StringVar(&j.Software, "software", j.Software,
		"`SOURCE` of kubelet and CRI-O: "+strings.Join(SoftwareSources(), ", ")+
			"; rpm is repositories, image is the OS image of the payload, auto is the OS image if no repository has them")
	flags.BoolVar(&j.SwitchImage, "switch-image", j.SwitchImage,
		"boot the OS image of the payload on a RHEL bootc host, which then runs RHEL CoreOS")
	flags.BoolVar(&j.InstallPackages, "install-packages", j.InstallPackages,
		"install missing packages with dnf; signatures are always checked")
	flags.StringVar(&j.HostSettings, "apply-host-settings", j.HostSettings,
		"apply settings of the host that are not in files, such as kernel arguments, and new configuration of running "+
			"services: `MODE` report prints the commands, apply applies them, reboot also reboots the host if its kernel "+
			"arguments change")
	flags.Lookup("apply-host-settings").NoOptDefVal = HostSettingsApply
	flags.StringVar(&j.Until, "until", j.Until, "stop when the node reaches `STATE`: "+
		strings.Join(steps.UntilValues(), ", "))
	flags.DurationVar((*time.Duration)(&j.Timeout), "timeout", time.Duration(j.Timeout),
		"stop the join after `DURATION`; 0 means no timeout")
	flags.StringSliceVar(&j.Skip, "skip", j.Skip, "skip `STEPS` (comma-separated)")
	flags.BoolVar(&j.KeepBootstrap, "keep-bootstrap", j.KeepBootstrap,
		"keep the bootstrap credential on the node after the node is Ready")
	flags.BoolVar(&j.Repair, "repair", j.Repair,
		"repair the node after the join: a deleted Node, a changed node address, drift, a new CA of the API server")
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Value.Type() == "bool" {
			AddCheck(flag, checkBool)
		} else if check := checks[flag.Name]; check != nil {
			AddCheck(flag, check)
		}
	})
	return flags
}

// readEnvironment sets the values of environment variables. A variable that has the prefix and names
// no setting is a problem.
func (e *Explanation) readEnvironment(environment []string) {
	settings := map[string]*pflag.Flag{} // by variable
	FlagSet(&e.Join).VisitAll(func(flag *pflag.Flag) { settings[Variable(flag.Name)] = flag })
	for _, assignment := range slices.Sorted(slices.Values(environment)) {
		name, value, _ := strings.Cut(assignment, "=")
		if !strings.HasPrefix(name, EnvironmentPrefix) {
			continue
		}
		flag, known := settings[name]
		if !known {
			e.Problems = append(e.Problems, Problem{Message: name + ": no setting has this environment variable" +
				Suggestion(name, slices.Sorted(maps.Keys(settings)))})
			continue
		}
		key := Key(flag.Name)
		if err := flag.Value.Set(value); err != nil {
			e.Problems = append(e.Problems, Problem{Key: key, Message: report.InvalidValue(name, value, err)})
		}
		e.origins[key] = Origin{FromEnvironment, name}
	}
}

// readFlags sets the values given on the command line. Lists are copied as slices, because a file name
// can contain a comma.
func (e *Explanation) readFlags(given *pflag.FlagSet) {
	settings := FlagSet(&e.Join)
	given.Visit(func(flag *pflag.Flag) {
		setting := settings.Lookup(flag.Name)
		if setting == nil {
			return // a flag of the command, not a setting
		}
		var err error
		list, isList := flag.Value.(pflag.SliceValue)
		if target, fits := setting.Value.(pflag.SliceValue); isList && fits {
			err = target.Replace(list.GetSlice())
		} else {
			err = setting.Value.Set(flag.Value.String())
		}
		key, name := Key(flag.Name), "--"+flag.Name
		if err != nil {
			e.Problems = append(e.Problems, Problem{Key: key, Message: report.InvalidValue(name, flag.Value.String(), err)})
		}
		e.origins[key] = Origin{FromFlag, name}
	})
}
