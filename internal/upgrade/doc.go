// SPDX-License-Identifier: Apache-2.0

// Package upgrade decides what a changed object of a payload requires on a node: which service
// loads it, and whether the node must be drained before. It changes nothing. Start reading at
// EffectOf.
package upgrade
