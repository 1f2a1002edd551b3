// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestSumMetric(t *testing.T) {
	const text = "# HELP sent_total Requests.\nsent_total{code=\"200\"} 3\nsent_total{code=\"a b\"} 1e+01\n" +
		"sent_total_x 7\nother 5\n"
	for metric, want := range map[string]float64{"sent_total": 13, "sent": 0, "other": 0} {
		if got := sumMetric(strings.NewReader(text), metric); got != want {
			t.Errorf("%s = %g, want %g", metric, got, want)
		}
	}
}

// Two connections share the link: each record waits for those before it, and is not sent after its deadline.
func TestLimitedLink(t *testing.T) {
	l := &limitedLink{bytesPerSecond: 1000}
	begun := time.Now()
	for n := range 4 {
		at, isSent := l.reserve(1000, begun.Add(3500*time.Millisecond))
		if want := n < 3; isSent != want {
			t.Errorf("record %d: sent %t, want %t", n, isSent, want)
		}
		early := begun.Add(min(time.Duration(n+1)*time.Second, 3500*time.Millisecond))
		if at.Before(early) || at.After(early.Add(200*time.Millisecond)) {
			t.Errorf("record %d is sent after %s", n, at.Sub(begun))
		}
	}
	if at, isSent := l.reserve(1000, time.Time{}); !isSent || at.Sub(begun) < 4*time.Second {
		t.Errorf("without a deadline: %t after %s", isSent, at.Sub(begun))
	}
}

// The ratio is that of the figures per node at the largest and the smallest size.
func TestTable(t *testing.T) {
	size := func(nodes int, cpu float64) result {
		return result{nodes: nodes, enroll: phase{cpu: cpu}}
	}
	var out bytes.Buffer
	printTable(&out, []result{size(100, 1), size(1000, 5)})
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.Contains(line, "enrollment: controller, CPU ms *") {
			if got := strings.Join(strings.Fields(line)[5:], " "); got != "10.0 5.0 0.50" {
				t.Errorf("the figures are %q", got)
			}
			return
		}
	}
	t.Errorf("the table has no CPU time:\n%s", &out)
}
