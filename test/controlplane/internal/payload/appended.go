// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// machineConfig is the object that the machine-config server writes into the payload twice:
// complete, and with an empty config as the marker of a first boot.
type machineConfig struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   machineConfigMeta `json:"metadata"`
	Spec       machineConfigSpec `json:"spec"`
}

type machineConfigMeta struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
}

type machineConfigSpec struct {
	OSImageURL                     string   `json:"osImageURL"`
	BaseOSExtensionsContainerImage string   `json:"baseOSExtensionsContainerImage"`
	Config                         any      `json:"config"`
	KernelArguments                []string `json:"kernelArguments"`
	Extensions                     []string `json:"extensions"`
	FIPS                           bool     `json:"fips"`
	KernelType                     string   `json:"kernelType"`
}

// innerVersion is the spec version of the config in the MachineConfig. It is newer than the
// served spec version.
const innerVersion = "3.4.0"

// appended returns the files that the machine-config server adds to a response. Several contain
// secrets and are world-readable, as upstream.
func appended(config Config, rendered []byte, in Inputs, pool string) ([]sourceFile, error) {
	name := fmt.Sprintf("rendered-%s-%.16x", pool, sha256.Sum256(rendered))
	const prefix = "machineconfiguration.openshift.io/"
	about := map[string]string{prefix + "currentConfig": name, prefix + "desiredConfig": name, prefix + "state": "Done"}
	if pool == workerPool {
		about[prefix+"firstPivotConfig"] = name // not set in the mode in which HyperShift runs the server
	}
	annotations, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("encoding the node's annotations: %w", err)
	}
	object := machineConfig{
		Kind:       "MachineConfig",
		APIVersion: prefix + "v1",
		Metadata: machineConfigMeta{Name: name, Annotations: map[string]string{
			prefix + "generated-by-controller-version": "0000000000000000000000000000000000000000",
			prefix + "release-image-version":           "", // empty in a real payload, too
		}},
		Spec: machineConfigSpec{
			OSImageURL:                     in.OSImage,
			BaseOSExtensionsContainerImage: in.releaseImage("rhel-coreos-extensions"),
			KernelArguments:                []string{"systemd.unified_cgroup_hierarchy=1", `cgroup_no_v1="all"`, "psi=0"},
			Extensions:                     []string{},
			KernelType:                     "default",
		},
	}
	config.Ignition = Version{innerVersion}
	object.Spec.Config = config
	whole, err := json.MarshalIndent(object, "", "    ")
	if err != nil {
		return nil, fmt.Errorf("encoding the MachineConfig: %w", err)
	}
	object.Spec.Config = map[string]Version{"ignition": {innerVersion}}
	encapsulated, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the encapsulated MachineConfig: %w", err)
	}
	return []sourceFile{
		{file{"/etc/kubernetes/kubelet-ca.crt", 0o644, percent}, in.KubeletCA},
		{file{"/etc/machine-config-daemon/node-annotations.json", 0o644, percent}, annotations},
		{file{"/etc/kubernetes/kubeconfig", 0o644, percent}, in.BootstrapConfig},
		{file{"/etc/mcs-machine-config-content.json", 0o644, percent}, whole},
		{file{"/etc/ignition-machine-config-encapsulated.json", 0o644, percent}, encapsulated},
	}, nil
}
