// SPDX-License-Identifier: Apache-2.0

package doctor

import "github.com/hcp-node-agent/hcp-node-agent/internal/report"

func problem(remedy report.Remedy, format string, args ...any) report.Finding {
	return report.Findingf(report.SeverityProblem, remedy, format, args...)
}

func warning(remedy report.Remedy, format string, args ...any) report.Finding {
	return report.Findingf(report.SeverityWarning, remedy, format, args...)
}

func note(remedy report.Remedy, format string, args ...any) report.Finding {
	return report.Findingf(report.SeverityNote, remedy, format, args...)
}

func passed(format string, args ...any) report.Finding {
	return report.Findingf(report.SeverityOK, "", format, args...)
}
