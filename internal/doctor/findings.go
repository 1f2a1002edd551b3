// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func finding(severity report.Severity, remedy report.Remedy, format string, args ...any) report.Finding {
	return report.Finding{Severity: severity, Remedy: remedy, Message: fmt.Sprintf(format, args...)}
}

func problem(remedy report.Remedy, format string, args ...any) report.Finding {
	return finding(report.SeverityProblem, remedy, format, args...)
}

func warning(remedy report.Remedy, format string, args ...any) report.Finding {
	return finding(report.SeverityWarning, remedy, format, args...)
}

func note(remedy report.Remedy, format string, args ...any) report.Finding {
	return finding(report.SeverityNote, remedy, format, args...)
}

func passed(format string, args ...any) report.Finding {
	return finding(report.SeverityOK, "", format, args...)
}
