// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Metric is a gauge in the Prometheus text format, for node_exporter's textfile collector.
type Metric struct {
	Name    string // snake_case, with unit
	Help    string
	Samples []Sample
}

// Sample is one value of a metric.
type Sample struct {
	Labels [][2]string // name and value, in this order
	Value  float64
}

// WriteMetrics writes the metrics. Metrics without samples are skipped.
func WriteMetrics(w io.Writer, metrics []Metric) error {
	var out strings.Builder
	for _, metric := range metrics {
		if len(metric.Samples) == 0 {
			continue
		}
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s gauge\n", metric.Name, escapeMetric(metric.Help, false), metric.Name)
		for _, sample := range metric.Samples {
			out.WriteString(metric.Name)
			for i, label := range sample.Labels {
				separator := ","
				if i == 0 {
					separator = "{"
				}
				fmt.Fprintf(&out, "%s%s=\"%s\"", separator, label[0], escapeMetric(label[1], true))
			}
			if len(sample.Labels) > 0 {
				out.WriteString("}")
			}
			out.WriteString(" " + strconv.FormatFloat(sample.Value, 'f', -1, 64) + "\n")
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing metrics: %w", err)
	}
	return nil
}

// escapeMetric escapes a help text or, if label is set, a label value, in which quotes are
// escaped too.
func escapeMetric(text string, label bool) string {
	text = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(text)
	if label {
		text = strings.ReplaceAll(text, `"`, `\"`)
	}
	return text
}
