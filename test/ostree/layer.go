// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// fetchLayer gets a layer from the registry and writes it to a temporary file as a tar of the tree of a
// commit. The name of the file is returned, also for the caller to remove it.
func fetchLayer(layer v1.Layer) (string, error) {
	content, err := layer.Uncompressed()
	if err != nil {
		return "", err
	}
	defer content.Close()
	file, err := os.CreateTemp("/var/tmp", "layer")
	if err != nil {
		return "", err
	}
	if err := errors.Join(toTree(content, file), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// toTree converts the tar of a layer: /etc becomes /usr/etc, and content outside of /usr and /etc is
// skipped (crates/ostree-ext/src/tar/write.rs, normalize_validated_path).
func toTree(in io.Reader, to io.Writer) error {
	out := tar.NewWriter(to)
	for layer := tar.NewReader(in); ; {
		header, err := layer.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		name, ok := treePath(header.Name)
		if !ok {
			continue
		}
		if strings.HasPrefix(path.Base(name), ".wh.") {
			return fmt.Errorf("%s: whiteouts are not supported by this stand-in", header.Name)
		}
		header.Name = name
		if header.Typeflag == tar.TypeLink {
			header.Linkname, _ = treePath(header.Linkname)
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.CopyN(out, layer, header.Size); err != nil {
			return err
		}
	}
}

func treePath(name string) (string, bool) {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	top, _, _ := strings.Cut(name, "/")
	switch top {
	case "usr":
		return name, true
	case "etc":
		return "usr/" + name, true
	}
	return "", false
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return word
}
