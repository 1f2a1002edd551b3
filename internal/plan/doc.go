// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a join would do, and changes nothing: it gets the payload, adapts
// it to this host, plans the migration of the uplink, and gathers the facts for the checks.
// Start reading at Plan and Build; Show is the plan command.
package plan
