// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Repair is one repair of a finding by the service.
type Repair struct {
	Reason report.Reason `json:"reason"`
	At     time.Time     `json:"at"`

	// Since is when the finding became active. It is not stored: zero if an earlier process made the repair.
	Since time.Time `json:"-"`
}

// repairsDocument is the content of RepairsFile.
type repairsDocument struct {
	report.TypeMeta
	Repairs []Repair `json:"repairs"`
}

const kindRepairs = "RepairHistory"

// SaveRepairs stores the last repairs durably.
func SaveRepairs(dir string, repairs []Repair) error {
	return SaveDocument(dir, RepairsFile, repairsDocument{report.Meta(kindRepairs), repairs})
}

// LoadRepairs returns what SaveRepairs has stored, or none.
func LoadRepairs(dir string) ([]Repair, error) {
	var document repairsDocument
	_, err := LoadDocument(dir, RepairsFile, kindRepairs, &document)
	return document.Repairs, err
}

// PublishedCA is a CA of the API server in kubelet's kubeconfig that the cluster publishes, or has published.
type PublishedCA struct {
	SHA256 string    `json:"sha256"`        // of the certificate, hexadecimal
	Gone   time.Time `json:"gone,omitzero"` // since when the cluster does not publish it; zero: the cluster does
}

// publishedCAsDocument is the content of PublishedCAsFile.
type publishedCAsDocument struct {
	report.TypeMeta
	CAs []PublishedCA `json:"cas"`
}

const kindPublishedCAs = "PublishedCAs"

// SavePublishedCAs stores the CAs durably.
func SavePublishedCAs(dir string, cas []PublishedCA) error {
	return SaveDocument(dir, PublishedCAsFile, publishedCAsDocument{report.Meta(kindPublishedCAs), cas})
}

// LoadPublishedCAs returns what SavePublishedCAs has stored, or none.
func LoadPublishedCAs(dir string) ([]PublishedCA, error) {
	var document publishedCAsDocument
	_, err := LoadDocument(dir, PublishedCAsFile, kindPublishedCAs, &document)
	return document.CAs, err
}

// purgeDocument describes which packages an unfinished leave removes at its end.
type purgeDocument struct {
	report.TypeMeta
	// number of dnf's last transaction before the agent's first; "" for none
	Transaction string `json:"transaction,omitempty"`
}

const kindPurge = "PurgeState"

// SavePurge stores durably that a leave removes the packages after a transaction of dnf.
func SavePurge(dir, transaction string) error {
	return SaveDocument(dir, PurgeFile, purgeDocument{report.Meta(kindPurge), transaction})
}

// LoadPurge returns the transaction that SavePurge has stored. It reports whether there is any.
func LoadPurge(dir string) (transaction string, found bool, err error) {
	var document purgeDocument
	found, err = LoadDocument(dir, PurgeFile, kindPurge, &document)
	return document.Transaction, found, err
}
