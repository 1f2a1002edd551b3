package report

import (
	"io"
	"testing"
)

// BenchmarkText measures the output of a join on a terminal and in a pipe.
func BenchmarkText(b *testing.B) {
	for name, live := range map[string]bool{"terminal": true, "pipe": false} {
		b.Run(name, func(b *testing.B) {
			events := joinEvents()
			for b.Loop() {
				face := &Text{W: io.Discard, Live: live, Color: live, Width: func() int { return 120 }}
				for _, event := range events {
					face.Emit(event)
				}
				face.Stop()
			}
			b.ReportMetric(float64(len(events)), "events/op")
		})
	}
}
