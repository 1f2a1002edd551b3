// Package config is the agent's configuration: one list of settings, given by
// defaults, /etc/hcp-node-agent/config.yaml, its drop-ins, the environment and
// flags, each winning over those before it.
package config

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Kind is the kind of the configuration file.
const Kind = "JoinConfig"

// Join is what a join is told. Secrets are not in it, only where they are.
type Join struct {
	APIVersion string `json:"apiVersion,omitempty" yaml:"apiVersion"`
	Kind       string `json:"kind,omitempty" yaml:"kind"`

	UserData string `json:"userData,omitempty" yaml:"userData"` // path of the stub, or "-"

	Endpoint   string `json:"endpoint,omitempty" yaml:"endpoint"`     // HOST, HOST:PORT or URL of the ignition server
	TokenFile  string `json:"tokenFile,omitempty" yaml:"tokenFile"`   // the ignition token
	CAFile     string `json:"caFile,omitempty" yaml:"caFile"`         // the ignition server's CA, PEM
	NodePool   string `json:"nodePool,omitempty" yaml:"nodePool"`     // NAMESPACE/NAME
	ConfigHash string `json:"configHash,omitempty" yaml:"configHash"` // TargetConfigVersionHash
	ConnectTo  string `json:"connectTo,omitempty" yaml:"connectTo"`   // HOST:PORT to dial instead of the endpoint's

	IgnitionOverrides []string `json:"ignitionOverrides,omitempty" yaml:"ignitionOverrides"` // paths of Ignition configs, or "-", merged over the payload in this order
	Payload           Payload  `json:"payload,omitzero" yaml:"payload"`

	BridgeInterface string   `json:"bridgeInterface,omitempty" yaml:"bridgeInterface"` // the uplink that br-ex takes
	VerifyReach     []string `json:"verifyReach,omitempty" yaml:"verifyReach"`         // HOST:PORT that has to answer by TCP before the network is changed and after
	NetworkTimeout  Duration `json:"networkTimeout,omitempty" yaml:"networkTimeout"`   // how long a change of the network may take until the old one comes back; 0 is the default

	Labels []string `json:"nodeLabels,omitempty" yaml:"nodeLabels"` // KEY=VALUE that the Node is registered with
	Taints []string `json:"nodeTaints,omitempty" yaml:"nodeTaints"` // KEY[=VALUE]:Effect, likewise

	PauseImage  string `json:"pauseImage,omitempty" yaml:"pauseImage"`
	ApproveWith string `json:"approveWith,omitempty" yaml:"approveWith"` // kubeconfig that may approve the node's two CSRs
	Ticket      string `json:"ticket,omitempty" yaml:"ticket"`           // path of the node's ticket, or "-"

	OpenShiftRelease string `json:"openshiftRelease,omitempty" yaml:"openshiftRelease"` // of the NodePool, 4.18: packages are looked for by it
	InstallPackages  bool   `json:"installPackages,omitempty" yaml:"installPackages"`   // with dnf, what is missing

	Until         string   `json:"until,omitempty" yaml:"until"`
	Timeout       Duration `json:"timeout,omitempty" yaml:"timeout"` // of the whole join; 0 is without end
	Skip          []string `json:"skip,omitempty" yaml:"skip"`
	KeepBootstrap bool     `json:"keepBootstrap,omitempty" yaml:"keepBootstrap"`
}

// Payload is what becomes of the payload before it is adapted.
type Payload struct {
	// Drop are patterns of what is left out: absolute paths of files,
	// directories and links, names of units, or UNIT/DROP-IN.
	Drop []string `json:"drop,omitempty" yaml:"drop"`
}

// Untils are the states that a join can end at, in their order.
func Untils() []string { return []string{"identity", "kubelet", "ready", "schedulable"} }

// Defaults is a join as it is when nothing else is said.
func Defaults() Join {
	return Join{Until: "schedulable", Timeout: Duration(time.Hour), NetworkTimeout: Duration(90 * time.Second)}
}

// problems tells what in the configuration makes no sense, by its settings.
func (j Join) problems() []Problem {
	var all []Problem
	wrong := func(key, format string, args ...any) {
		all = append(all, Problem{Key: key, Message: key + fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(Untils(), j.Until) {
		wrong("until", " is %q; it can be one of %v", j.Until, Untils())
	}
	if j.Timeout < 0 {
		wrong("timeout", " is %s; it cannot be negative", time.Duration(j.Timeout))
	}
	if t := time.Duration(j.NetworkTimeout); t < leastNetworkTimeout || t > mostNetworkTimeout {
		wrong("networkTimeout", " is %s; it can be from %s to %s", t, leastNetworkTimeout, mostNetworkTimeout)
	}
	if j.OpenShiftRelease != "" && !isRelease(j.OpenShiftRelease) {
		wrong("openshiftRelease", " is %q; it is written as 4.18", j.OpenShiftRelease)
	}
	for _, list := range []struct {
		key   string
		texts []string
		check func(string) error
	}{
		{"verifyReach", j.VerifyReach, checkPeer},
		{"nodeLabels", j.Labels, checkLabel},
		{"nodeTaints", j.Taints, checkTaint},
		{"payload.drop", j.Payload.Drop, checkDrop},
	} {
		for _, text := range list.texts {
			if err := list.check(text); err != nil {
				wrong(list.key, ": %v", err)
			}
		}
	}
	return all
}

// Duration is a time.Duration that is written as 90s or 1h30m.
type Duration time.Duration

// UnmarshalText parses "90s" in JSON.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration like 90s or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalYAML parses 90s in YAML. Its error names the line, as the other errors
// of the decoder do.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	if err := d.UnmarshalText([]byte(node.Value)); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}}
	}
	return nil
}

// MarshalText formats a duration as 1h30m0s.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(time.Duration(d).String()), nil
}
