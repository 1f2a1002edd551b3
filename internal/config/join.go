// SPDX-License-Identifier: Apache-2.0

// Package config loads the agent's configuration. Each setting can come from the defaults,
// /etc/hcp-node-agent/config.yaml, its drop-ins, the environment and flags. Later sources
// override earlier ones.
package config

import (
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Kind is the kind of the configuration file.
const Kind = "JoinConfig"

// Join is the configuration of a join. It contains paths of secrets, but no secrets.
type Join struct {
	APIVersion string `json:"apiVersion,omitempty" doc:"version of the format"`
	Kind       string `json:"kind,omitempty" doc:"kind of the file"`

	UserData string `json:"userData,omitempty" doc:"path of the user data, or - for standard input"`

	Endpoint   string `json:"endpoint,omitempty" doc:"HOST, HOST:PORT or URL of the ignition server"`
	TokenFile  string `json:"tokenFile,omitempty" doc:"path of the ignition token"`
	CAFile     string `json:"caFile,omitempty" doc:"path of the ignition server's CA in PEM format"`
	NodePool   string `json:"nodePool,omitempty" doc:"NAMESPACE/NAME of the NodePool"`
	ConfigHash string `json:"configHash,omitempty" doc:"version of the NodePool's configuration (TargetConfigVersionHash)"`
	ConnectTo  string `json:"connectTo,omitempty" doc:"HOST:PORT to connect to instead of the endpoint"`

	IgnitionOverrides []string `json:"ignitionOverrides,omitempty" doc:"paths of Ignition configs, or - for standard input, which are merged over the payload in this order"`
	Payload           Payload  `json:"payload,omitzero" doc:"settings for the payload"`

	BridgeInterface   string   `json:"bridgeInterface,omitempty" doc:"uplink for br-ex; empty: the interface with the default route"`
	RequiredEndpoints []string `json:"verifyReach,omitempty" doc:"HOST:PORT that must be reachable by TCP before and after the network change"`
	NetworkTimeout    Duration `json:"networkTimeout,omitempty" doc:"timeout of the network change, after which it is rolled back, such as 90s"`

	IgnorePacketFilter bool `json:"ignorePacketFilter,omitempty" doc:"whether the uplink is attached to br-ex even if the packet filter of the host accepts new SSH connections only on the uplink"`

	IgnoreLogins bool `json:"ignoreLogins,omitempty" doc:"whether the payload is applied even if no user could log in to the host with SSH any more"`

	Labels []string `json:"nodeLabels,omitempty" doc:"labels for the registration of the Node as KEY=VALUE"`
	Taints []string `json:"nodeTaints,omitempty" doc:"taints for the registration of the Node as KEY[=VALUE]:EFFECT"`

	PauseImage  string `json:"pauseImage,omitempty" doc:"pause image for CRI-O; empty: the image of the release"`
	ApproveWith string `json:"approveWith,omitempty" doc:"path of a kubeconfig that may approve the node's CSRs"`
	JoinToken   string `json:"joinToken,omitempty" doc:"path of the join token, or - for standard input"`

	OpenShiftRelease string `json:"openshiftRelease,omitempty" doc:"release of the NodePool, such as 4.18, if it cannot be read from the OS image of the payload"`
	Software         string `json:"software,omitempty" doc:"source of kubelet and CRI-O: rpm (repositories), image (the OS image of the payload) or auto (the OS image if no repository has them)"`
	SwitchImage      bool   `json:"switchImage,omitempty" doc:"whether a RHEL bootc host boots the OS image of the payload"`
	InstallPackages  bool   `json:"installPackages,omitempty" doc:"whether missing packages are installed with dnf"`

	HostSettings string `json:"hostSettings,omitempty" doc:"what the join does with settings of the host that are not in files, such as kernel arguments, and configuration that running services must load: report, apply, or reboot, which applies them and reboots if the kernel arguments require it"`

	Until         string   `json:"until,omitempty" doc:"last step of the join"`
	Timeout       Duration `json:"timeout,omitempty" doc:"timeout of the whole join, such as 1h30m; 0 means no timeout"`
	Skip          []string `json:"skip,omitempty" doc:"steps that are skipped"`
	Repair        bool     `json:"repair,omitempty" doc:"whether the service repairs a deleted Node, a changed node address and drift after the join"`
	KeepBootstrap bool     `json:"keepBootstrap,omitempty" doc:"whether the bootstrap kubeconfig is kept"`
}

// Payload contains settings for processing the payload before it is adapted.
type Payload struct {
	Exclude []string `json:"drop,omitempty" doc:"patterns of entries to exclude: absolute paths of files, directories and links, names of units, or UNIT/DROP-IN"`
}

// Defaults returns the default configuration of a join.
func Defaults() Join {
	return Join{
		Software:       SoftwareAuto,
		Until:          steps.Schedulable,
		Timeout:        Duration(time.Hour),
		NetworkTimeout: Duration(90 * time.Second),
		HostSettings:   HostSettingsReport,
	}
}

// The values of Software.
const (
	SoftwareAuto  = "auto"  // repositories, and the OS image for packages that no repository has
	SoftwareRPM   = "rpm"   // repositories only
	SoftwareImage = "image" // the OS image; Open vSwitch from repositories if they have it
)

// SoftwareSources returns the values of Software.
func SoftwareSources() []string { return []string{SoftwareAuto, SoftwareRPM, SoftwareImage} }

// The values of HostSettings.
const (
	HostSettingsReport = "report"
	HostSettingsApply  = "apply"
	HostSettingsReboot = "reboot"
)

// HostSettingsValues returns the values of HostSettings.
func HostSettingsValues() []string {
	return []string{HostSettingsReport, HostSettingsApply, HostSettingsReboot}
}

// AppliesHostSettings reports whether the join applies the settings of the host that files cannot
// give.
func (j Join) AppliesHostSettings() bool {
	return j.HostSettings == HostSettingsApply || j.HostSettings == HostSettingsReboot
}

// HasUserData reports whether user data or the endpoint of an ignition server is set: a source of the payload.
func (j Join) HasUserData() bool { return j.UserData != "" || j.Endpoint != "" }

// Duration is a time.Duration with the text format 90s or 1h30m.
type Duration time.Duration

// UnmarshalText parses "90s" in JSON.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := report.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("invalid value %q: %w", text, err)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText formats a duration as 1h30m0s.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(time.Duration(d).String()), nil
}

// WithTimeout limits ctx to the timeout of the whole run. A timeout of 0 means no limit.
func (j Join) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if j.Timeout > 0 {
		return context.WithTimeout(ctx, time.Duration(j.Timeout))
	}
	return context.WithCancel(ctx)
}
