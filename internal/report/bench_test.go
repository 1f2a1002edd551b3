// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"testing"
)

// BenchmarkText measures the output of a join on a terminal and in a pipe.
func BenchmarkText(b *testing.B) {
	for name, newSink := range map[string]func() Sink{
		"terminal": func() Sink { return &Terminal{W: io.Discard, Symbols: Unicode(), Color: true} },
		"pipe":     func() Sink { return &Lines{W: io.Discard} },
	} {
		b.Run(name, func(b *testing.B) {
			events := joinEvents()
			for b.Loop() {
				sink := newSink()
				for _, event := range events {
					sink.Emit(event)
				}
			}
			b.ReportMetric(float64(len(events)), "events/op")
		})
	}
}
