// Package config is the agent's configuration: one list of settings, given by
// defaults, /etc/hcp-node-agent/config.yaml, its drop-ins, the environment and
// flags, each winning over those before it.
package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Kind is the kind of the configuration file.
const Kind = "JoinConfig"

// Join is what a join is told. Secrets are not in it, only where they are.
type Join struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`

	UserData string `json:"userData,omitempty"` // path of the stub, or "-"

	Endpoint   string `json:"endpoint,omitempty"`   // HOST, HOST:PORT or URL of the ignition server
	TokenFile  string `json:"tokenFile,omitempty"`  // the ignition token
	CAFile     string `json:"caFile,omitempty"`     // the ignition server's CA, PEM
	NodePool   string `json:"nodePool,omitempty"`   // NAMESPACE/NAME
	ConfigHash string `json:"configHash,omitempty"` // TargetConfigVersionHash
	ConnectTo  string `json:"connectTo,omitempty"`  // HOST:PORT to dial instead of the endpoint's

	IgnitionOverrides []string `json:"ignitionOverrides,omitempty"` // paths of Ignition configs, or "-", merged over the payload in this order
	Payload           Payload  `json:"payload,omitzero"`

	BridgeInterface string   `json:"bridgeInterface,omitempty"` // the uplink that br-ex takes
	VerifyReach     []string `json:"verifyReach,omitempty"`     // HOST:PORT that has to answer by TCP before the network is changed and after
	NetworkTimeout  Duration `json:"networkTimeout,omitempty"`  // how long a change of the network may take until the old one comes back; 0 is the default

	Labels []string `json:"nodeLabels,omitempty"` // KEY=VALUE that the Node is registered with
	Taints []string `json:"nodeTaints,omitempty"` // KEY[=VALUE]:Effect, likewise

	PauseImage  string `json:"pauseImage,omitempty"`
	ApproveWith string `json:"approveWith,omitempty"` // kubeconfig that may approve the node's two CSRs
	Ticket      string `json:"ticket,omitempty"`      // path of the node's ticket, or "-"

	OpenShiftRelease string `json:"openshiftRelease,omitempty"` // of the NodePool, 4.18: packages are looked for by it
	InstallPackages  bool   `json:"installPackages,omitempty"`  // with dnf, what is missing

	Until         string   `json:"until,omitempty"`
	Timeout       Duration `json:"timeout,omitempty"` // of the whole join; 0 is without end
	Skip          []string `json:"skip,omitempty"`
	KeepBootstrap bool     `json:"keepBootstrap,omitempty"`
}

// Payload is what becomes of the payload before it is adapted.
type Payload struct {
	// Drop are patterns of what is left out: absolute paths of files,
	// directories and links, names of units, or UNIT/DROP-IN.
	Drop []string `json:"drop,omitempty"`
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

// UnmarshalJSON reads "90s"; YAML comes here too.
func (d *Duration) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return fmt.Errorf("a duration is written as text, like \"30m\": %w", err)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("reading duration: %w", err)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes "1h30m0s".
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}
