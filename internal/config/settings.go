package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
)

// EnvironmentPrefix is the prefix of the environment variables of settings. The variable of
// --user-data is HCP_NODE_AGENT_USER_DATA.
const EnvironmentPrefix = "HCP_NODE_AGENT_"

// Flags binds all settings of a join to flags. It is the only list of settings.
func Flags(flags *pflag.FlagSet, j *Join) {
	flags.StringVar(&j.UserData, "user-data", j.UserData, "the NodePool's user-data stub: a `FILE`, or - for standard input")
	flags.StringVar(&j.Endpoint, "endpoint", j.Endpoint, "ignition server as `HOST[:PORT]`, where there is no stub or another one shall be asked")
	flags.StringVar(&j.TokenFile, "token-file", j.TokenFile, "`FILE` with the ignition token")
	flags.StringVar(&j.CAFile, "ca-file", j.CAFile, "`FILE` with the ignition server's CA (PEM)")
	flags.StringVar(&j.NodePool, "nodepool", j.NodePool, "`NAMESPACE/NAME` of the NodePool")
	flags.StringVar(&j.ConfigHash, "config-hash", j.ConfigHash, "the NodePool's target config version `HASH`")
	flags.StringVar(&j.ConnectTo, "connect-to", j.ConnectTo, "connect to `HOST:PORT`; TLS and HTTP still name the endpoint")
	flags.StringSliceVar(&j.IgnitionOverrides, "ignition-override", j.IgnitionOverrides, "merge the Ignition config in `FILE` (- for standard input) over the payload; can be given again")
	flags.StringSliceVar(&j.Payload.Exclude, "payload-drop", j.Payload.Exclude, "leave out what a `PATTERN` matches: an absolute path, UNIT or UNIT/DROP-IN, with * and a final /**; can be given again")
	flags.StringVar(&j.BridgeInterface, "bridge-interface", j.BridgeInterface, "the `INTERFACE` that br-ex takes as its uplink (default: that of the default route)")
	flags.StringSliceVar(&j.RequiredEndpoints, "verify-reach", j.RequiredEndpoints, "`HOST:PORT` that has to answer by TCP before the network is changed (else nothing is) and after (else it is rolled back); can be given again")
	flags.DurationVar((*time.Duration)(&j.NetworkTimeout), "network-timeout", time.Duration(j.NetworkTimeout), "give the host its network back after `DURATION` when the change is not finished by then, even if this program is dead")
	flags.StringSliceVar(&j.Labels, "node-label", j.Labels, "register the Node with the label `KEY=VALUE`; can be given again")
	flags.StringSliceVar(&j.Taints, "node-taint", j.Taints, "register the Node with the taint `KEY[=VALUE]:EFFECT`; can be given again")
	flags.StringVar(&j.PauseImage, "pause-image", j.PauseImage, "CRI-O's pause `IMAGE` (default: the release's own)")
	flags.StringVar(&j.ApproveWith, "approve-with", j.ApproveWith, "approve this node's own two CSRs with this `KUBECONFIG` (- for standard input); it is not stored")
	flags.StringVar(&j.JoinToken, "join-token", j.JoinToken, "the node's join token, by which an approver knows it: a `FILE`, a systemd credential's path, or - for standard input")
	flags.StringVar(&j.OpenShiftRelease, "openshift-release", j.OpenShiftRelease, "the NodePool's OpenShift `RELEASE`, as 4.18, whose packages a node needs (default: that of the installed kubelet)")
	flags.BoolVar(&j.InstallPackages, "install-packages", j.InstallPackages, "install the packages that are missing, with dnf, signatures checked")
	flags.StringVar(&j.Until, "until", j.Until, "end when the node has come to `STATE`: "+strings.Join(stepname.UntilValues(), ", "))
	flags.DurationVar((*time.Duration)(&j.Timeout), "timeout", time.Duration(j.Timeout), "give up after `DURATION`; 0 waits without end")
	flags.StringSliceVar(&j.Skip, "skip", j.Skip, "leave out `STEPS`, comma-separated")
	flags.BoolVar(&j.KeepBootstrap, "keep-bootstrap", j.KeepBootstrap, "keep the bootstrap credential on the node after it is Ready")
}

// fromEnvironment sets the values of environment variables and calls onSet for each.
func fromEnvironment(j *Join, lookup func(string) (string, bool), onSet func(flag string)) error {
	flags := pflag.NewFlagSet("environment", pflag.ContinueOnError)
	Flags(flags, j)
	var bad error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := Variable(flag.Name)
		if value, given := lookup(name); given && bad == nil {
			if err := flags.Set(flag.Name, value); err != nil {
				bad = fmt.Errorf("reading environment variable %s: %w", name, err)
			}
			onSet(flag.Name)
		}
	})
	return bad
}

// fromFlags sets the values given on the command line and calls onSet for each.
func fromFlags(j *Join, given *pflag.FlagSet, onSet func(flag string)) error {
	flags := pflag.NewFlagSet("flags", pflag.ContinueOnError)
	Flags(flags, j)
	var bad error
	given.Visit(func(flag *pflag.Flag) {
		if flags.Lookup(flag.Name) == nil || bad != nil {
			return // a flag of the command, not a setting
		}
		if err := copyValue(flags.Lookup(flag.Name), flag); err != nil {
			bad = fmt.Errorf("reading flag --%s: %w", flag.Name, err)
		}
		onSet(flag.Name)
	})
	return bad
}

// copyValue sets a flag to the value of another flag. Lists are copied as slices, because a
// file name can contain a comma.
func copyValue(to, from *pflag.Flag) error {
	list, isList := from.Value.(pflag.SliceValue)
	target, fits := to.Value.(pflag.SliceValue)
	if isList && fits {
		return target.Replace(list.GetSlice())
	}
	return to.Value.Set(from.Value.String())
}
