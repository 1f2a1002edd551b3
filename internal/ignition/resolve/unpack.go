// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
)

// MaxDecodedBytes is the maximum size of all decoded contents of a config, in bytes: a few kilobytes
// of gzip can contain gigabytes.
const MaxDecodedBytes = 64 << 20

// Unpacker decodes the contents of resources, up to a total size.
type Unpacker struct{ limit, remaining int64 }

// NewUnpacker returns an Unpacker with a total limit in bytes.
func NewUnpacker(limit int64) *Unpacker { return &Unpacker{limit: limit, remaining: limit} }

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
	unpacker := NewUnpacker(MaxDecodedBytes)
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
	if r.Compression != nil && *r.Compression == "gzip" {
		var err error
		if content, err = gunzip(content, u.remaining); err != nil {
			return nil, err
		}
	}
	if u.remaining -= int64(len(content)); u.remaining < 0 {
		return nil, fmt.Errorf("the total size of all contents exceeds %s", fetch.FormatSize(u.limit))
	}
	return content, verifyHash(content, r.Verification.Hash)
}

func gunzip(compressed []byte, limit int64) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("decompressing the gzip content: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, fmt.Errorf("decompressing the gzip content: %w", err)
	}
	return content, nil
}

func verifyHash(content []byte, want *string) error {
	if want == nil || *want == "" {
		return nil
	}
	name, sum, _ := strings.Cut(*want, "-")
	var h hash.Hash
	switch name {
	case "sha512":
		h = sha512.New()
	case "sha256":
		h = sha256.New()
	default:
		return fmt.Errorf("unsupported hash function %q in the verification", name)
	}
	h.Write(content)
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, sum) {
		return fmt.Errorf("verification failed: the %s is %s, expected %s", name, got, sum)
	}
	return nil
}
