// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
)

// Staged describes what upgrade --stage has prepared.
type Staged struct {
	Release string    `json:"release,omitempty" doc:"release of the payload, such as OpenShift 4.21 on RHEL 9.6"`
	Payload string    `json:"payload" doc:"SHA-256 of the payload, hexadecimal"`
	Size    int64     `json:"size" doc:"size on the disk, in bytes"`
	Since   time.Time `json:"since" doc:"when it was complete"`
}

func newStaged(s *joinstate.Staged) *Staged {
	if s == nil {
		return nil
	}
	staged := &Staged{Payload: s.PayloadDigest, Size: s.Size, Since: s.Since}
	if s.Software != nil {
		staged.Release = s.Software.String()
	}
	return staged
}
