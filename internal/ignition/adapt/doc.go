// SPDX-License-Identifier: Apache-2.0

// Package adapt decides what becomes of a payload on a host that was not installed from an
// OpenShift image: which entries apply as they are, and which are changed, skipped, added or
// reported. It changes nothing. The table of rules in rules.go holds the decisions; ToHost
// applies them. Start reading at ToHost.
package adapt
