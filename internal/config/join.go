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
	APIVersion string `json:"apiVersion,omitempty" yaml:"apiVersion" doc:"version of the format"`
	Kind       string `json:"kind,omitempty" yaml:"kind" doc:"kind of the file"`

	UserData string `json:"userData,omitempty" yaml:"userData" doc:"path of the user data, or - for standard input"`

	Endpoint   string `json:"endpoint,omitempty" yaml:"endpoint" doc:"HOST, HOST:PORT or URL of the ignition server"`
	TokenFile  string `json:"tokenFile,omitempty" yaml:"tokenFile" doc:"path of the ignition token"`
	CAFile     string `json:"caFile,omitempty" yaml:"caFile" doc:"path of the ignition server's CA in PEM format"`
	NodePool   string `json:"nodePool,omitempty" yaml:"nodePool" doc:"NAMESPACE/NAME of the NodePool"`
	ConfigHash string `json:"configHash,omitempty" yaml:"configHash" doc:"version of the NodePool's configuration (TargetConfigVersionHash)"`
	ConnectTo  string `json:"connectTo,omitempty" yaml:"connectTo" doc:"HOST:PORT to connect to instead of the endpoint"`

	IgnitionOverrides []string `json:"ignitionOverrides,omitempty" yaml:"ignitionOverrides" doc:"paths of Ignition configs, or - for standard input, which are merged over the payload in this order"`
	Payload           Payload  `json:"payload,omitzero" yaml:"payload" doc:"settings for the payload"`

	BridgeInterface   string   `json:"bridgeInterface,omitempty" yaml:"bridgeInterface" doc:"uplink for br-ex; empty: the interface with the default route"`
	RequiredEndpoints []string `json:"verifyReach,omitempty" yaml:"verifyReach" doc:"HOST:PORT that must be reachable by TCP before and after the network change"`
	NetworkTimeout    Duration `json:"networkTimeout,omitempty" yaml:"networkTimeout" doc:"timeout of the network change, after which it is rolled back, such as 90s"`

	Labels []string `json:"nodeLabels,omitempty" yaml:"nodeLabels" doc:"labels for the registration of the Node as KEY=VALUE"`
	Taints []string `json:"nodeTaints,omitempty" yaml:"nodeTaints" doc:"taints for the registration of the Node as KEY[=VALUE]:EFFECT"`

	PauseImage  string `json:"pauseImage,omitempty" yaml:"pauseImage" doc:"pause image for CRI-O; empty: the image of the release"`
	ApproveWith string `json:"approveWith,omitempty" yaml:"approveWith" doc:"path of a kubeconfig that may approve the node's CSRs"`
	JoinToken   string `json:"joinToken,omitempty" yaml:"joinToken" doc:"path of the join token, or - for standard input"`

	OpenShiftRelease string `json:"openshiftRelease,omitempty" yaml:"openshiftRelease" doc:"release of the NodePool, such as 4.18, which selects the packages"`
	InstallPackages  bool   `json:"installPackages,omitempty" yaml:"installPackages" doc:"whether missing packages are installed with dnf"`

	Until         string   `json:"until,omitempty" yaml:"until" doc:"last step of the join"`
	Timeout       Duration `json:"timeout,omitempty" yaml:"timeout" doc:"timeout of the whole join, such as 1h30m; 0 means no timeout"`
	Skip          []string `json:"skip,omitempty" yaml:"skip" doc:"steps that are skipped"`
	KeepBootstrap bool     `json:"keepBootstrap,omitempty" yaml:"keepBootstrap" doc:"whether the bootstrap kubeconfig is kept"`
}

// Payload contains settings for processing the payload before it is adapted.
type Payload struct {
	Exclude []string `json:"drop,omitempty" yaml:"drop" doc:"patterns of entries to exclude: absolute paths of files, directories and links, names of units, or UNIT/DROP-IN"`
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
		wrong("until", " is %q; valid values: %v", j.Until, stepname.UntilValues())
	}
	if j.Timeout < 0 {
		wrong("timeout", " is %s; it must not be negative", time.Duration(j.Timeout))
	}
	if t := time.Duration(j.NetworkTimeout); t < minNetworkTimeout || t > maxNetworkTimeout {
		wrong("networkTimeout", " is %s; it must be from %s to %s", t, minNetworkTimeout, maxNetworkTimeout)
	}
	if j.OpenShiftRelease != "" && !isRelease(j.OpenShiftRelease) {
		wrong("openshiftRelease", " is %q; the format is 4.18", j.OpenShiftRelease)
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
