// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto"
	_ "crypto/sha256" // for crypto.SHA256
	_ "crypto/sha512" // for crypto.SHA512
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// MaxDecodedBytes is the maximum size of all decoded contents of a config, in bytes: a few kilobytes
// of gzip can contain gigabytes.
const MaxDecodedBytes = 64 << 20

// Unpacker decodes the contents of resources, up to a total size. The zero value is valid.
type Unpacker struct {
	limit int64 // 0 means MaxDecodedBytes
	used  int64
}

func (u *Unpacker) remaining() int64 { return cmp.Or(u.limit, MaxDecodedBytes) - u.used }

// Decode decodes a data URL, decompresses its content, and verifies the hash of the decompressed
// content. As in Ignition, a resource without a source has an empty content, whatever its hash.
func (u *Unpacker) Decode(r types.Resource) ([]byte, error) {
	if r.Source == nil || *r.Source == "" {
		return nil, nil
	}
	if !isDataURL(*r.Source) {
		return nil, fmt.Errorf("the content is not included in the config but at %s", RedactSource(*r.Source))
	}
	decoded, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, errors.New("decoding the data URL: invalid format") // the cause contains part of the URL
	}
	return u.unpack(decoded.Data, r)
}

// Contents returns the decoded contents of the files of a complete config, and the joined
// contents to append to them, both by path. A file without a source has no content; an empty
// source is an empty content.
func Contents(config types.Config) (own, appends map[string][]byte, err error) {
	var unpacker Unpacker
	own, appends = map[string][]byte{}, map[string][]byte{}
	for _, reference := range contentRefs(&config) {
		content, err := unpacker.Decode(*reference.resource)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", reference.description, err)
		case reference.isAppended:
			appends[reference.file] = append(appends[reference.file], content...)
		case reference.resource.Source != nil:
			own[reference.file] = content
		}
	}
	return own, appends, nil
}

// unpack decompresses and verifies the bytes of a resource.
func (u *Unpacker) unpack(content []byte, r types.Resource) ([]byte, error) {
	if ptr.Deref(r.Compression, "") == "gzip" {
		var err error
		if content, err = gunzip(content, u.remaining()); err != nil {
			return nil, err
		}
	}
	if u.used += int64(len(content)); u.remaining() < 0 {
		limit := fetch.FormatSize(cmp.Or(u.limit, MaxDecodedBytes))
		return nil, fmt.Errorf("the total size of all contents exceeds %s", limit)
	}
	return content, verifyHash(content, r.Verification)
}

func gunzip(compressed []byte, limit int64) (content []byte, err error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(reader, limit+1))
	}
	return content, wrap.Errorf(err, "decompressing the gzip content")
}

func verifyHash(content []byte, verification types.Verification) error {
	if ptr.Deref(verification.Hash, "") == "" {
		return nil
	}
	name, want, err := verification.HashParts()
	if err != nil {
		return fmt.Errorf("reading the verification: %w", err)
	}
	function, known := map[string]crypto.Hash{"sha256": crypto.SHA256, "sha512": crypto.SHA512}[name]
	if !known {
		return fmt.Errorf("unsupported hash function %q in the verification", name)
	}
	h := function.New()
	h.Write(content)
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, want) {
		return fmt.Errorf("verification failed: the %s is %s, expected %s", name, got, want)
	}
	return nil
}
