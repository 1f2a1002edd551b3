// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// Problem is a warning, or one of the causes of a failure, with its own remedy.
type Problem struct {
	Message string `json:"message" doc:"problem in one sentence"`
	Remedy  Remedy `json:"remedy,omitempty" doc:"how to resolve the cause"`
}

// problems is the error of a failure with several causes.
type problems []Problem

// Error returns all messages in one line. Text for people lists them instead.
func (p problems) Error() string {
	return strings.Join(lists.Map(p, func(one Problem) string { return one.Message }), "; ")
}

// FailWith returns the failure for causes, or nil if there are none. Its remedy has the remedies of
// all causes.
func FailWith(code Code, causes []Problem) error {
	switch len(causes) {
	case 0:
		return nil
	case 1:
		return Fail(code, causes[0].Remedy, "%s", causes[0].Message)
	}
	var remedies []string
	for _, one := range causes {
		if one.Remedy != "" {
			remedies = lists.AppendMissing(remedies, string(one.Remedy))
		}
	}
	return Fail(code, Remedy(strings.Join(remedies, "\n")), "%w", problems(causes))
}

// CausesOf returns the causes of an error that has several, else nil.
func CausesOf(err error) []Problem {
	var several problems
	errors.As(err, &several)
	return several
}

// countCauses returns the message of an error with the number of its causes in place of them.
func countCauses(message string, causes []Problem) string {
	return strings.Replace(message, problems(causes).Error(), fmt.Sprintf("%d problems", len(causes)), 1)
}

// Failure prints the message and the remedy of a failure, or the list of its causes, each with its
// remedy.
func (p *Page) Failure(label, message string, remedy Remedy, causes []Problem) {
	if len(causes) == 0 {
		p.Item(label, message)
		p.Remedy(remedy)
		return
	}
	p.Item(label, countCauses(message, causes))
	p.Problems(causes)
}

// Problems prints problems as a list, each with its remedy.
func (p *Page) Problems(list []Problem) {
	for _, one := range list {
		p.Item("  - ", one.Message)
		p.Remedy(one.Remedy)
	}
}
