// SPDX-License-Identifier: Apache-2.0

package report

// CommandResult contains the last fields of a document: the result of its command.
type CommandResult struct {
	ExitCode Code   `json:"exitCode" doc:"exit code of the command"`
	Error    string `json:"error,omitempty" doc:"what failed and why; absent if the command succeeded"`
	Remedy   Remedy `json:"remedy,omitempty" doc:"how to resolve the failure"`
}

// ResultOf returns the result of a command that ended with err.
func ResultOf(err error) CommandResult {
	r := CommandResult{ExitCode: CodeOf(err), Remedy: RemedyOf(err)}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
