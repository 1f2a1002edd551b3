// SPDX-License-Identifier: Apache-2.0

// Package plan decides what a join would do, and changes nothing: it adapts the payload to this host,
// decides which software the host needs, plans the migration of the uplink, and gathers the facts for
// the checks. Start reading at Plan and Build.
package plan
