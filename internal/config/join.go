// Package config loads the agent's configuration. Each setting can come from the defaults,
// /etc/hcp-node-agent/config.yaml, its drop-ins, the environment and flags. Later sources
// override earlier ones.
package config

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
)

// Kind is the kind of the configuration file.
const Kind = "JoinConfig"

// Join is the configuration of a join. It contains paths of secrets, but no secrets.
type Join struct {
	APIVersion string `json:"apiVersion,omitempty" yaml:"apiVersion"`
	Kind       string `json:"kind,omitempty" yaml:"kind"`

	// Path of the user data, or "-".
	UserData string `json:"userData,omitempty" yaml:"userData"`

	// HOST, HOST:PORT or URL of the ignition server.
	Endpoint string `json:"endpoint,omitempty" yaml:"endpoint"`
	// Path of the ignition token.
	TokenFile string `json:"tokenFile,omitempty" yaml:"tokenFile"`
	// Path of the ignition server's CA, PEM.
	CAFile string `json:"caFile,omitempty" yaml:"caFile"`
	// NAMESPACE/NAME.
	NodePool string `json:"nodePool,omitempty" yaml:"nodePool"`
	// TargetConfigVersionHash.
	ConfigHash string `json:"configHash,omitempty" yaml:"configHash"`
	// HOST:PORT to dial instead of the endpoint.
	ConnectTo string `json:"connectTo,omitempty" yaml:"connectTo"`

	// Paths of Ignition configs, or "-", merged over the payload in this order.
	IgnitionOverrides []string `json:"ignitionOverrides,omitempty" yaml:"ignitionOverrides"`
	Payload           Payload  `json:"payload,omitzero" yaml:"payload"`

	// Uplink for br-ex.
	BridgeInterface string `json:"bridgeInterface,omitempty" yaml:"bridgeInterface"`
	// HOST:PORT that must be reachable by TCP before and after the network change.
	RequiredEndpoints []string `json:"verifyReach,omitempty" yaml:"verifyReach"`
	// Timeout of the network change, after which it is rolled back; 0 is the default.
	NetworkTimeout Duration `json:"networkTimeout,omitempty" yaml:"networkTimeout"`

	// KEY=VALUE for the Node's registration.
	Labels []string `json:"nodeLabels,omitempty" yaml:"nodeLabels"`
	// KEY[=VALUE]:Effect for the Node's registration.
	Taints []string `json:"nodeTaints,omitempty" yaml:"nodeTaints"`

	PauseImage string `json:"pauseImage,omitempty" yaml:"pauseImage"`
	// Kubeconfig that may approve the node's two CSRs.
	ApproveWith string `json:"approveWith,omitempty" yaml:"approveWith"`
	// Path of the join token, or "-".
	JoinToken string `json:"joinToken,omitempty" yaml:"joinToken"`

	// Release of the NodePool, such as 4.18, which selects the packages.
	OpenShiftRelease string `json:"openshiftRelease,omitempty" yaml:"openshiftRelease"`
	// Install missing packages with dnf.
	InstallPackages bool `json:"installPackages,omitempty" yaml:"installPackages"`

	Until string `json:"until,omitempty" yaml:"until"`
	// Timeout of the whole join; 0 means no timeout.
	Timeout       Duration `json:"timeout,omitempty" yaml:"timeout"`
	Skip          []string `json:"skip,omitempty" yaml:"skip"`
	KeepBootstrap bool     `json:"keepBootstrap,omitempty" yaml:"keepBootstrap"`
}

// Payload contains settings for processing the payload before it is adapted.
type Payload struct {
	// Exclude are patterns of excluded objects: absolute paths of files, directories and
	// links, names of units, or UNIT/DROP-IN.
	Exclude []string `json:"drop,omitempty" yaml:"drop"`
}

// Defaults returns the default configuration of a join.
func Defaults() Join {
	return Join{Until: stepname.Schedulable, Timeout: Duration(time.Hour), NetworkTimeout: Duration(90 * time.Second)}
}

// validate returns the invalid settings of the configuration.
func (j Join) validate() []Problem {
	var all []Problem
	wrong := func(key, format string, args ...any) {
		all = append(all, Problem{Key: key, Message: key + fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(stepname.UntilValues(), j.Until) {
		wrong("until", " is %q; it can be one of %v", j.Until, stepname.UntilValues())
	}
	if j.Timeout < 0 {
		wrong("timeout", " is %s; it cannot be negative", time.Duration(j.Timeout))
	}
	if t := time.Duration(j.NetworkTimeout); t < minNetworkTimeout || t > maxNetworkTimeout {
		wrong("networkTimeout", " is %s; it can be from %s to %s", t, minNetworkTimeout, maxNetworkTimeout)
	}
	if j.OpenShiftRelease != "" && !isRelease(j.OpenShiftRelease) {
		wrong("openshiftRelease", " is %q; it is written as 4.18", j.OpenShiftRelease)
	}
	for _, list := range []struct {
		key   string
		texts []string
		check func(string) error
	}{
		{"verifyReach", j.RequiredEndpoints, checkHostPort},
		{"nodeLabels", j.Labels, checkLabel},
		{"nodeTaints", j.Taints, checkTaint},
		{"payload.drop", j.Payload.Exclude, checkExclude},
	} {
		for _, text := range list.texts {
			if err := list.check(text); err != nil {
				wrong(list.key, ": %v", err)
			}
		}
	}
	return all
}

// Duration is a time.Duration with the text format 90s or 1h30m.
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

// UnmarshalYAML parses 90s in YAML. Its error contains the line, like other errors of the
// decoder.
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
