// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// signatureVersion begins the annotations with signatures.
const signatureVersion = "v1:"

func encodeSignature(signature []byte) string {
	return signatureVersion + base64.StdEncoding.EncodeToString(signature)
}

// decodeSignature returns the signature in an annotation of a CSR, with at most maxBytes bytes.
func decodeSignature(text string, maxBytes int) ([]byte, error) {
	encoded, isKnown := strings.CutPrefix(text, signatureVersion)
	switch {
	case text == "":
		return nil, errors.New("the CSR contains no signature")
	case !isKnown:
		return nil, report.RefuseFormat("the signature of the CSR is not of version v1")
	case len(encoded) > base64.StdEncoding.EncodedLen(maxBytes):
		return nil, errors.New("the signature of the CSR is malformed: it is too long")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, errors.New("the signature of the CSR is malformed")
	}
	return signature, nil
}
