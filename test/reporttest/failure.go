// SPDX-License-Identifier: Apache-2.0

package reporttest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckFailure fails the test unless err has the code, contains the text, and has a remedy.
func CheckFailure(t *testing.T, err error, code report.Code, want string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if got := report.CodeOf(err); got != code {
		t.Errorf("exit code %d, want %d: %v", got, code, err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q lacks %q", err, want)
	}
	if report.RemedyOf(err) == "" {
		t.Errorf("error %q has no remedy", err)
	}
}

// hyperShiftWords matches terms of hosted clusters, which do not help the administrator of a
// standalone cluster.
var hyperShiftWords = regexp.MustCompile(`(?i)NodePool|NAMESPACE-HC|hostedcluster|hosted cluster|hypershift|` +
	`management cluster|current user data|token`)

// CheckStandaloneRemedy fails the test unless the remedy of err contains the text, and neither
// err nor its remedy has terms of hosted clusters.
func CheckStandaloneRemedy(t *testing.T, err error, remedy string) {
	t.Helper()
	if !strings.Contains(string(report.RemedyOf(err)), remedy) {
		t.Errorf("remedy %q lacks %q", report.RemedyOf(err), remedy)
	}
	text := strings.ReplaceAll(err.Error()+string(report.RemedyOf(err)), "but no token", "")
	if wrong := hyperShiftWords.FindString(text); wrong != "" {
		t.Errorf("it mentions %q to a standalone cluster: %s; %s", wrong, err, report.RemedyOf(err))
	}
}
