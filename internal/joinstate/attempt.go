// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// AttemptFile is the record of the last upgrade that the cluster has permitted.
const AttemptFile = "upgrade-attempt.json"

// Attempt is an upgrade that the service has begun because the cluster permitted it. A slot permits one attempt.
type Attempt struct {
	report.TypeMeta
	Slot    string    `json:"slot"`   // ID of the permission
	Config  string    `json:"config"` // hash of the configuration
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended,omitzero"`    // zero while it is in progress or interrupted
	Failure string    `json:"failure,omitempty"` // why it failed, "" if it did not
	Blocked string    `json:"blocked,omitempty"` // why it could not begin and still cannot, "" if nothing prevents it
}

const kindAttempt = "UpgradeAttempt"

// Save writes the record durably.
func (a Attempt) Save(dir string) error {
	a.TypeMeta = report.Meta(kindAttempt)
	return SaveDocument(dir, AttemptFile, a)
}

// LoadAttempt reads the record of the last attempt, the zero Attempt if there is none.
func LoadAttempt(dir string) (Attempt, error) {
	var a Attempt
	_, err := LoadDocument(dir, AttemptFile, kindAttempt, &a)
	return a, err
}

// EndAttempt records the end of the attempt that is in progress. It does nothing if there is none.
func EndAttempt(dir, failure string) error {
	a, err := LoadAttempt(dir)
	if err != nil || a.Slot == "" || !a.Ended.IsZero() {
		return err
	}
	a.Ended, a.Failure = time.Now().UTC(), failure
	return a.Save(dir)
}

// BlockAttempt records that the attempt that is in progress could not begin, and why.
func BlockAttempt(dir, reason string) error {
	a, err := LoadAttempt(dir)
	if err != nil {
		return err
	}
	a.Ended, a.Blocked = time.Now().UTC(), reason
	return a.Save(dir)
}
