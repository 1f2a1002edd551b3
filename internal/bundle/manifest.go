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
	Created  time.Time `json:"created"`
	Hostname string    `json:"hostname"`
	Version  string    `json:"version"` // version of the agent
	Files    []Entry   `json:"pieces"`
}

// Entry describes one file of a bundle.
type Entry struct {
	Name      string `json:"name"`
	Source    string `json:"source"`            // a command, a path, or a description
	Bytes     int    `json:"bytes"`             // size in the bundle
	Truncated bool   `json:"cut,omitempty"`     // only the end is included
	Masked    bool   `json:"masked,omitempty"`  // the content contained possible secrets
	Missing   string `json:"missing,omitempty"` // reason why it is missing
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
	text := fmt.Sprintf("%d pieces, %d kB before compression", there, (bytes+999)/1000)
	if cut > 0 {
		text += fmt.Sprintf(", %d of them cut", cut)
	}
	if missing > 0 {
		text += fmt.Sprintf("; %d are missing", missing)
	}
	return text + " (" + ManifestName + " lists them); secrets are masked"
}
