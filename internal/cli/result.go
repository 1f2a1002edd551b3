package cli

import "github.com/hcp-node-agent/hcp-node-agent/internal/report"

// FailureDocument is printed if a command fails without another document.
type FailureDocument struct {
	report.TypeMeta
	Result
}

// Result contains the last fields of every document.
type Result struct {
	ExitCode report.Code   `json:"exitCode"`
	Error    string        `json:"error,omitempty"`
	Remedy   report.Remedy `json:"remedy,omitempty"`
}

// ResultOf returns the result of a command that ended with err.
func ResultOf(err error) Result {
	r := Result{ExitCode: report.CodeOf(err), Remedy: report.Remedy(report.RemedyOf(err))}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
