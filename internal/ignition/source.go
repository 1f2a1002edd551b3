package ignition

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
	"net/url"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"
)

// maxExpanded is how many bytes all contents of one config may have once they
// are decoded: a few kilobytes of gzip can hold gigabytes.
const maxExpanded = 64 << 20

// errRemote means that a content is not in the config, but elsewhere.
var errRemote = errors.New("its content is not in the config")

// decoder turns resources into contents, up to a total size.
type decoder struct{ left int64 }

// resource decodes a data URL, expands it, and checks its hash, which is of
// the expanded bytes. No source is an empty content.
func (d *decoder) resource(r types.Resource) ([]byte, error) {
	if r.Source == nil || *r.Source == "" {
		return nil, nil
	}
	if !strings.HasPrefix(*r.Source, "data:") {
		return nil, fmt.Errorf("%w but at %s", errRemote, place(*r.Source))
	}
	decoded, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, fmt.Errorf("decoding data URL: %w", err)
	}
	content := decoded.Data
	if r.Compression != nil && *r.Compression == "gzip" {
		if content, err = expand(content, d.left); err != nil {
			return nil, err
		}
	}
	if d.left -= int64(len(content)); d.left < 0 {
		return nil, fmt.Errorf("the contents together have more than %d MiB", maxExpanded>>20)
	}
	return content, verify(content, r.Verification.Hash)
}

// place is a source without what could be secret in it.
func place(source string) string {
	parsed, err := url.Parse(source)
	if err != nil {
		return "a URL that cannot be read"
	}
	parsed.RawQuery = "" // a signed URL has its signature there
	return parsed.Redacted()
}

func expand(compressed []byte, limit int64) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("expanding gzip: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, fmt.Errorf("expanding gzip: %w", err)
	}
	return content, nil
}

func verify(content []byte, want *string) error {
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
		return fmt.Errorf("its hash is of the unknown kind %q", name)
	}
	h.Write(content)
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, sum) {
		return fmt.Errorf("its %s is %s and not %s: the content was changed or damaged", name, got, sum)
	}
	return nil
}
