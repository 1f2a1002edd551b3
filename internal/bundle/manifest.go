// Package bundle writes what a support case needs to know of a host into one
// file, with its secrets masked and its size bounded.
package bundle

import (
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ManifestName is the last file of a bundle, which lists the others.
const ManifestName = "manifest.json"

// Manifest lists what is in a bundle, and what is missing.
type Manifest struct {
	report.TypeMeta
	Created  time.Time `json:"created"`
	Hostname string    `json:"hostname"`
	Version  string    `json:"version"` // of the agent
	Pieces   []Entry   `json:"pieces"`
}

// Entry is one piece as it is in the bundle.
type Entry struct {
	Name    string `json:"name"`
	Source  string `json:"source"`            // a command, a path, or words
	Bytes   int    `json:"bytes"`             // in the bundle
	Cut     bool   `json:"cut,omitempty"`     // only its last part is there
	Masked  bool   `json:"masked,omitempty"`  // something in it was a secret, or looked like one
	Missing string `json:"missing,omitempty"` // why it is not there
}

// String sums the bundle up.
func (m Manifest) String() string {
	there, missing, cut, bytes := 0, 0, 0, 0
	for _, entry := range m.Pieces {
		bytes += entry.Bytes
		if entry.Missing != "" {
			missing++
			continue
		}
		there++
		if entry.Cut {
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
