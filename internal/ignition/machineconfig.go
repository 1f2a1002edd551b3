// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Files of a payload that configure the node as a whole.
const (
	MachineConfigPath = "/etc/ignition-machine-config-encapsulated.json"
	// AppliedMachineConfigPath is the path to which the first boot of RHEL CoreOS renames the MachineConfig when it has
	// set its kernel arguments and its image (machine-config-operator, pkg/daemon/daemon.go).
	AppliedMachineConfigPath = MachineConfigPath + ".bak"
	// BootstrapKubeconfigPath is the path of the bootstrap kubeconfig, whose credential can
	// request a client certificate for any node.
	BootstrapKubeconfigPath = "/etc/kubernetes/kubeconfig"
	KubeletConfigPath       = "/etc/kubernetes/kubelet.conf"
)

// MachineConfig holds the operating system settings of a rendered MachineConfig. Ignition has no
// fields for them: on an OpenShift image, the machine-config-daemon applies them at first boot.
type MachineConfig struct {
	Name            string   `json:"name,omitempty"`
	OSImageURL      string   `json:"osImageURL,omitempty"`
	KernelArguments []string `json:"kernelArguments,omitempty"`
	FIPS            bool     `json:"fips,omitempty"`
	Extensions      []string `json:"extensions,omitempty"`
	KernelType      string   `json:"kernelType,omitempty"`
}

// MachineConfig returns the operating system settings of the payload, zero if it contains no
// MachineConfig.
func (p *Payload) MachineConfig() MachineConfig { return p.machine }

func parseMachineConfig(p *Payload) (MachineConfig, error) {
	content, _, _ := p.File(MachineConfigPath)
	if len(content) == 0 {
		return MachineConfig{}, nil
	}
	return ParseMachineConfig(content)
}

// ParseMachineConfig reads the operating system settings of a MachineConfig in JSON.
func ParseMachineConfig(content []byte) (MachineConfig, error) {
	var document struct {
		Metadata struct{ Name string }
		Spec     MachineConfig
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return MachineConfig{}, fmt.Errorf("decoding the MachineConfig: %w", err)
	}
	document.Spec.Name = document.Metadata.Name
	return document.Spec, nil
}

// KubeletConfig is the part of kubelet's configuration that the host must be prepared for. The
// file is YAML, or JSON in older releases.
type KubeletConfig struct {
	ProtectKernelDefaults bool     `json:"protectKernelDefaults"`
	ClusterDNS            []string `json:"clusterDNS"`
	FailSwapOn            *bool    `json:"failSwapOn"`
	FailCgroupV1          *bool    `json:"failCgroupV1"`
	Authentication        struct {
		X509 struct {
			ClientCAFile string `json:"clientCAFile"`
		} `json:"x509"`
	} `json:"authentication"`
}

// DNSAddresses returns the valid addresses of the cluster DNS service.
func (c KubeletConfig) DNSAddresses() []netip.Addr {
	var addresses []netip.Addr
	for _, dns := range c.ClusterDNS {
		if address, err := netip.ParseAddr(dns); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// RefusesSwap reports whether kubelet refuses to start while swap is enabled. That is kubelet's
// default; OpenShift disables the check from 4.21 on.
func (p *Payload) RefusesSwap() (bool, error) {
	config, err := p.KubeletConfig()
	return config.FailSwapOn == nil || *config.FailSwapOn, err
}

// KubeletConfig returns the configuration of kubelet, zero if the payload has none.
func (p *Payload) KubeletConfig() (KubeletConfig, error) {
	content, _, _ := p.File(KubeletConfigPath)
	return parseKubeletConfig(content)
}

func parseKubeletConfig(content []byte) (KubeletConfig, error) {
	var config KubeletConfig
	err := yaml.Unmarshal(content, &config)
	return config, wrap.Errorf(err, "file %s: decoding the kubelet configuration", KubeletConfigPath)
}

// ClusterDNS returns the addresses of the cluster DNS service in kubelet's configuration on a
// host, none if the file does not exist. Tree is a hostfs.Tree; this package does not import hostfs,
// because hcp-node-admin is also built for macOS.
func ClusterDNS[Info any](tree interface {
	ReadFile(path string) ([]byte, Info, error)
},
) ([]netip.Addr, error) {
	content, _, err := tree.ReadFile(KubeletConfigPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubelet configuration: %w", err)
	}
	config, err := parseKubeletConfig(content)
	return config.DNSAddresses(), err
}
