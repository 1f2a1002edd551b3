// SPDX-License-Identifier: Apache-2.0

// Package nodepool gets the user data of a NodePool of platform None from a management cluster, and decides whether
// a host can join with it. GetObjects and Facts.GetSecrets gather the facts, Facts.Evaluate is a pure decision, and
// Facts.Check also requests the payload as a host does.
//
// Conditions, annotations and Secrets are those of HyperShift (hypershift-operator/controllers/nodepool and
// ignition-server/controllers in github.com/openshift/hypershift).
package nodepool
