// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto"
	_ "crypto/sha256" // for crypto.SHA256
	_ "crypto/sha512" // for crypto.SHA512
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
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
	decoded, err := decodeDataURL(*r.Source)
	if err != nil {
		return nil, errors.New("decoding the data URL: invalid format") // the cause contains part of the URL
	}
	return u.unpack(decoded, r)
}

// decodeDataURL returns the data of a data URL. It decodes those with the common headers itself, because the lexer of
// package dataurl is a goroutine that reads character by character.
func decodeDataURL(source string) ([]byte, error) {
	header, data, found := strings.Cut(source, ",")
	// Package base64 ignores a carriage return, which package dataurl rejects.
	if found && slices.Contains(base64Headers, header) && !strings.Contains(data, "\r") {
		return base64.StdEncoding.DecodeString(data)
	}
	decoded, err := dataurl.DecodeString(source)
	if err != nil {
		return nil, err
	}
	return decoded.Data, nil
}

// base64Headers are the headers that OpenShift, Butane and this package write before base64.
var base64Headers = []string{
	"data:;base64", "data:text/plain;base64", "data:text/plain;charset=utf-8;base64",
	"data:application/octet-stream;base64",
}

// Contents are the decoded contents of the files of a config, by path. A file without a source has no content of its
// own; an empty source is an empty content.
type Contents struct {
	Own      map[string][]byte
	Appended map[string][]byte // joined, to append to files
}

// DecodeContents returns the contents of a complete config.
func DecodeContents(config types.Config) (Contents, error) {
	var unpacker Unpacker
	var contents Contents
	for _, reference := range contentRefs(&config) {
		content, err := unpacker.Decode(*reference.resource)
		if err != nil {
			return Contents{}, fmt.Errorf("%s: %w", reference.description, err)
		}
		contents.add(reference, content)
	}
	return contents, nil
}

func (c *Contents) add(reference resourceRef, content []byte) {
	if c.Own == nil {
		c.Own, c.Appended = map[string][]byte{}, map[string][]byte{}
	}
	switch {
	case reference.isAppended:
		c.Appended[reference.file] = append(c.Appended[reference.file], content...)
	case reference.resource.Source != nil:
		c.Own[reference.file] = content
	}
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
