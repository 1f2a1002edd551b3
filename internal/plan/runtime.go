// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
)

// crioConfigDir is the drop-in directory of CRI-O. CRI-O reads the files in lexical
// order, and the last one takes precedence.
const crioConfigDir = "/etc/crio/crio.conf.d"

// defaultRuntime returns the container runtime that CRI-O will use according to the
// files of the payload and of the host, or "" if no file names one.
func (s *Software) defaultRuntime() string {
	names, err := s.session.Host.Files.ReadDir(crioConfigDir)
	if err != nil {
		names = nil // the directory does not exist yet
	}
	for _, file := range s.payload.Config.Storage.Files {
		if path.Dir(file.Path) == crioConfigDir {
			names = append(names, path.Base(file.Path))
		}
	}
	slices.Sort(names)
	runtime := ""
	for _, name := range names {
		if content, found := s.effectiveFile(path.Join(crioConfigDir, name)); found {
			runtime = cmp.Or(parseRuntime(content), runtime)
		}
	}
	return runtime
}

// DesiredRuntime returns the CRI-O configuration that the release requires. pauseImage replaces the pause image of
// the payload if it is set.
func DesiredRuntime(payload *ignition.Payload, pauseImage string) (crio.Config, error) {
	content, _, found := payload.File("/etc/crio/crio.conf.d/00-default")
	if !found {
		content = nil
	}
	parsed, err := crio.Parse(content)
	if err != nil {
		return crio.Config{}, err
	}
	return crio.Desired(parsed, pauseImage)
}

// parseRuntime returns the default container runtime in one CRI-O configuration
// file.
func parseRuntime(content []byte) string {
	config, err := crio.Parse(content)
	if err != nil {
		return "" // CRI-O rejects the file with a better message
	}
	return config.Runtime
}
