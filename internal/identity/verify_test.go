package identity

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCompareClocks(t *testing.T) {
	leaf := &x509.Certificate{NotAfter: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	before, after := leaf.NotAfter.Add(-time.Hour), leaf.NotAfter.Add(time.Hour)
	if err := compareClocks(leaf, after, after); err != nil {
		t.Errorf("expired by both clocks: %v", err)
	}
	err := compareClocks(leaf, before, after)
	const want = "this machine's clock is wrong: it says 2026-11-01T01:00:00Z, at which this node's certificate has " +
		"expired (at 2026-11-01T00:00:00Z); the API server's clock says 2026-10-31T23:00:00Z"
	if err == nil || err.Error() != want || report.CodeOf(err) != report.Refused {
		t.Errorf("compareClocks() = %v, want %q", err, want)
	}
}
