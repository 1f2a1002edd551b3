// SPDX-License-Identifier: Apache-2.0

// Package enrollment implements join tokens, with which a node joins a cluster without manual
// approval. Each token has two files.
//
// The token file is for the host. It holds an Ed25519 private key and is therefore a secret. The
// enrollment is a NodeEnrollment, an object of the hosted cluster, or its manifest. It holds the public
// key, the node's name and the addresses that the node may have, and no secret.
//
// With the token's key, the host signs the cluster's CA, the token ID, the node's name and the
// public key of its CSR. The signature is stored in annotations of the CSR, which can be set only
// when the CSR is created. The controller verifies the signature with the enrollment.
package enrollment

import "github.com/hcp-node-agent/hcp-node-agent/internal/schema"

// Kind is the kind of a file.
type Kind string

// Kinds of files. An enrollment is the manifest of a NodeEnrollment.
const (
	KindToken      Kind = "JoinToken"
	KindEnrollment Kind = "NodeEnrollment"
)

// Enum returns all kinds.
func (Kind) Enum() []string { return schema.Strings(KindToken, KindEnrollment) }

// Suffixes of the file names.
const (
	TokenSuffix      = ".token"
	EnrollmentSuffix = ".yaml"
)
