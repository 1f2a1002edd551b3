package reporttest

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckFailure fails the test unless err has the code, contains the text, and has a remedy.
func CheckFailure(t *testing.T, err error, code report.Code, want string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
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
