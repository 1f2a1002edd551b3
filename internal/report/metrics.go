// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
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
	escapeHelp := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	var out strings.Builder
	for _, metric := range metrics {
		if len(metric.Samples) == 0 {
			continue
		}
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %[1]s gauge\n", metric.Name, escapeHelp.Replace(metric.Help))
		for _, sample := range metric.Samples {
			name := metric.Name
			if len(sample.Labels) > 0 {
				labels := lists.Map(sample.Labels, func(label [2]string) string {
					return fmt.Sprintf(`%s="%s"`, label[0], escapeLabel.Replace(label[1]))
				})
				name += "{" + strings.Join(labels, ",") + "}"
			}
			fmt.Fprintln(&out, name, strconv.FormatFloat(sample.Value, 'f', -1, 64))
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing metrics: %w", err)
	}
	return nil
}
