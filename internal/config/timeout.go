// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"time"
)

// WithTimeout limits ctx to the timeout of the whole run. A timeout of 0 means no limit.
func (j Join) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if j.Timeout > 0 {
		return context.WithTimeout(ctx, time.Duration(j.Timeout))
	}
	return context.WithCancel(ctx)
}
