// SPDX-License-Identifier: Apache-2.0

// Package effects states, in one table, which service reads which file of a node, and what a change of
// the file requires: a reload, a restart, a restart of a static pod, a drain, a boot, or nothing. It
// changes nothing. A join restarts what started before its inputs changed (Inputs), an upgrade does
// what the difference of two payloads requires (Of), a repair restarts what has outdated inputs, and a
// plan prints the effects. Start reading at rules.
package effects
