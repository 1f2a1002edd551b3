package inputs

import (
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// UsageError returns the failure for invalid input of a join.
func UsageError(format string, args ...any) error {
	return report.Fail(report.Usage, "hcp-node-agent join --help", format, args...)
}
