// SPDX-License-Identifier: Apache-2.0

// Package bundle collects the information for a support case in one file, with secrets
// masked and with a limited size.
package bundle

import (
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ManifestName is the name of the last file of a bundle, which lists the others.
const ManifestName = "manifest.json"

// Manifest lists the files of a bundle and the missing files.
type Manifest struct {
	report.TypeMeta
	Created  time.Time `json:"created" doc:"time of creation"`
	Hostname string    `json:"hostname" doc:"hostname"`
	Version  string    `json:"version" doc:"version of the agent"`
	Files    []Entry   `json:"files" doc:"files of the archive, and files that are missing"`
}

// Entry describes one file of a bundle.
type Entry struct {
	Name      string `json:"name" doc:"path in the archive"`
	Source    string `json:"source" doc:"command, path or description of the source"`
	Bytes     int    `json:"bytes" doc:"size in the archive in bytes"`
	Truncated bool   `json:"truncated,omitempty" doc:"whether only the end of the content is included"`
	Masked    bool   `json:"masked,omitempty" doc:"whether possible secrets were masked"`
	Missing   string `json:"missing,omitempty" doc:"why the file is missing; absent if it exists"`
}

// String returns a summary of the bundle.
func (m Manifest) String() string {
	there, missing, cut, bytes := 0, 0, 0, 0
	for _, entry := range m.Files {
		bytes += entry.Bytes
		if entry.Missing != "" {
			missing++
			continue
		}
		there++
		if entry.Truncated {
			cut++
		}
	}
	noun := "files"
	if there == 1 {
		noun = "file"
	}
	text := fmt.Sprintf("%d %s, %d kB before compression", there, noun, (bytes+999)/1000)
	if cut > 0 {
		text += fmt.Sprintf(", %d truncated", cut)
	}
	if missing > 0 {
		text += fmt.Sprintf(", %d missing", missing)
	}
	return text + " (" + ManifestName + " lists all); secrets are masked"
}
