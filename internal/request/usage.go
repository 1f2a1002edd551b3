// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// UsageError returns the failure for invalid input of a command. Its remedy is the help of the
// command, which package cli adds.
func UsageError(format string, args ...any) error {
	return report.Fail(report.Usage, "", format, args...)
}
