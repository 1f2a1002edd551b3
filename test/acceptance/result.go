// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is the content of the report.
type result struct {
	host        string
	started     time.Time
	facts       facts
	versions    facts // of the programs while the node had joined
	steps       []stepResult
	outages     []outage
	migration   string // what the agent has measured itself; "" if nothing
	denials     string // of SELinux
	differences []string
	interrupted bool
	restored    bool // the state after leave was compared
}

// stepResult is the end of a step. err wraps errNotRun if it was not run.
type stepResult struct {
	name     string
	duration time.Duration
	err      error
}

// outage is the longest time without a reply of the gateway during a step. It is negative if there was no reply.
type outage struct {
	step   string
	length time.Duration
}

func (r *result) passed() bool {
	failed := func(s stepResult) bool { return s.err != nil && !errors.Is(s.err, errNotRun) }
	return r.restored && !r.interrupted && len(r.differences) == 0 && r.denials == "" &&
		!slices.ContainsFunc(r.steps, failed)
}

// reply matches the time of a reply in the output of ping -D.
var reply = regexp.MustCompile(`(?m)^\[(\d+\.\d+)\] .*time=`)

// longestOutage returns the longest time between two replies in the output of ping -D.
func longestOutage(log string) time.Duration {
	longest, last := time.Duration(-1), 0.0
	for _, match := range reply.FindAllStringSubmatch(log, -1) {
		at, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			continue
		}
		if last != 0 {
			longest = max(longest, time.Duration((at-last)*float64(time.Second)))
		}
		last = at
	}
	return longest
}

// migrationOf returns the interruption that the agent has measured, from the JSON document of status.
func migrationOf(status string) (string, error) {
	var document struct {
		Bridge struct {
			Outage *struct {
				LongestSeconds float64 `json:"longestSeconds"`
				Sent           int     `json:"sent"`
				Received       int     `json:"received"`
			} `json:"outage"`
		} `json:"bridge"`
	}
	if err := json.Unmarshal([]byte(status), &document); err != nil {
		return "", fmt.Errorf("reading the status: %w", err)
	}
	outage := document.Bridge.Outage
	if outage == nil {
		return "", nil
	}
	return fmt.Sprintf("%.3f s (%d of %d echo requests answered)",
		outage.LongestSeconds, outage.Received, outage.Sent), nil
}

// volatile matches lines of the state that change on any host without a join.
var volatile = regexp.MustCompile(`(^| )/var/lib/(rpm|dnf|PackageKit|chrony|rsyslog|logrotate|plymouth|private|` +
	`alternatives|unbound|tpm2-tss|rhsm|insights|pcp|selinux|sss|cloud|authselect|tuned|fwupd|NetworkManager|` +
	`random-seed)(/| |$)|` +
	`(^| )/etc/(resolv\.conf|dnf/|yum\.repos\.d/redhat\.repo|rhsm|pki/entitlement|adjtime)`)

// compare returns the lines of the state that a run has added or removed.
func compare(before, after []string) []string {
	var differences []string
	add := func(sign string, lines, others []string) {
		known := map[string]bool{}
		for _, line := range others {
			known[line] = true
		}
		for _, line := range lines {
			if !known[line] && !volatile.MatchString(line) {
				differences = append(differences, sign+" "+line)
			}
		}
	}
	add("-", before, after)
	add("+", after, before)
	return differences
}

// markdown returns the report.
func (r *result) markdown() string {
	var b strings.Builder
	outcome := "passed"
	if !r.passed() {
		outcome = "**not passed**"
	}
	if r.interrupted {
		outcome += ", interrupted"
	}
	fmt.Fprintf(&b, "# Acceptance of hcp-node-agent\n\nOutcome: %s. %s, %s.\n\n", outcome,
		r.started.UTC().Format(time.DateOnly), time.Since(r.started).Round(time.Second))
	fmt.Fprint(&b, "| | before | joined |\n|---|---|---|\n")
	for _, key := range []string{
		"os", "kernel", "architecture", "selinux", "fips", "systemd", "networkManager", "openvswitch", "kubelet", "crio",
		"agent",
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", key, r.facts[key], r.versions[key])
	}
	fmt.Fprint(&b, "\n## Steps\n\n| step | seconds | result |\n|---|---|---|\n")
	for _, step := range r.steps {
		text := "passed"
		if step.err != nil {
			text = strings.ReplaceAll(strings.TrimSpace(step.err.Error()), "\n", "; ")
		}
		fmt.Fprintf(&b, "| %s | %.1f | %s |\n", step.name, step.duration.Seconds(), strings.ReplaceAll(text, "|", `\|`))
	}
	fmt.Fprint(&b, "\n## Interruption of the network\n\n")
	fmt.Fprint(&b, "| step | longest time without a reply of the gateway |\n|---|---|\n")
	for _, one := range r.outages {
		text := "the gateway did not reply"
		if one.length >= 0 {
			text = fmt.Sprintf("%.3f s (one request every 0.05 s)", one.length.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s |\n", one.step, text)
	}
	if r.migration != "" {
		fmt.Fprintf(&b, "| measured by the agent | %s |\n", r.migration)
	}
	fmt.Fprintf(&b, "\n## The host after leave\n\n")
	switch {
	case !r.restored:
		fmt.Fprintln(&b, "The state was not compared.")
	case len(r.differences) == 0:
		fmt.Fprintln(&b, "Files, units, profiles, addresses, routes and bridges are as before.")
	default:
		fmt.Fprintf(&b, "Differences (- before, + after):\n\n```\n%s\n```\n", strings.Join(r.differences, "\n"))
	}
	fmt.Fprintf(&b, "\n## Denials of SELinux\n\n")
	if r.denials == "" {
		fmt.Fprintln(&b, "None.")
	} else {
		fmt.Fprintf(&b, "```\n%s\n```\n", r.denials)
	}
	return b.String()
}
