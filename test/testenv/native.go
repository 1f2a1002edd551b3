// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	_ "embed" // for configureOVS
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const configureOVSPath = "/usr/local/bin/configure-ovs.sh"

//go:embed testdata/configure-ovs.sh
var configureOVS string

// NativePayload returns the payload of the control plane for a host that Ignition provisions: its units migrate the
// uplink to br-ex, which they must not do on other hosts, and pivot to the OS image. The script for br-ex is that of a
// release of OpenShift if ../shared/payloads contains a payload of it, and otherwise a short stand-in.
func (s *Environment) NativePayload(osImage string) (Payload, error) {
	payload, err := s.Payload()
	if err != nil {
		return nil, err
	}
	script, err := s.configureOVS()
	if err != nil {
		return nil, err
	}
	payload.SetFile(configureOVSPath, script)
	return payload, payload.SetOSImage(osImage)
}

func (s *Environment) configureOVS() (string, error) {
	file := filepath.Join(s.repository, "..", "shared", "payloads", "worker-4.20.ign")
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return configureOVS, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading a payload of OpenShift: %w", err)
	}
	var release Payload
	if err := json.Unmarshal(content, &release); err != nil {
		return "", fmt.Errorf("decoding %s: %w", file, err)
	}
	return release.File(configureOVSPath)
}
