// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"time"

	k8swait "k8s.io/apimachinery/pkg/util/wait"
)

// NewBackoff returns a backoff that grows from one second to fifteen, and adds a jitter of up to 30%,
// so that hosts that booted together do not send their requests together.
func NewBackoff() *k8swait.Backoff {
	return &k8swait.Backoff{
		Duration: time.Second,
		Factor:   1.7,
		Jitter:   0.3,
		Steps:    1 << 30,
		Cap:      15 * time.Second,
	}
}
