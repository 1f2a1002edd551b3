// SPDX-License-Identifier: Apache-2.0

// Package approver has the rules for the approval of the CSRs of nodes. It sends no request: all facts are arguments.
//
// Decide decides which CSRs the controller approves by the enrollments of nodes. NewReview has the reasons for and
// against an approval by an administrator, and Confirm selects the CSRs that an administrator has confirmed.
// ExpectedNode has the rules for the content of a CSR, which also apply to a node that approves its own CSRs.
package approver
