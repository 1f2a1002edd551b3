// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write creates the files of a token and its enrollment in dir and returns their paths. Only the
// owner can read the token file. Write creates dir, accessible only to the owner, if dir does not
// exist. It fails if one of the files exists: the file can be the only copy of a token that a
// host waits with.
func Write(dir string, t *Token, e *Enrollment) (tokenPath, enrollmentPath string, err error) {
	secret, public, err := encodeBoth(t, e)
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", fmt.Errorf("creating the directory: %w", err)
	}
	tokenPath = filepath.Join(dir, t.NodeName+TokenSuffix)
	enrollmentPath = filepath.Join(dir, e.NodeName+EnrollmentSuffix)
	if err := createFile(enrollmentPath, public, 0o644); err != nil {
		return "", "", err
	}
	if err := createFile(tokenPath, secret, 0o600); err != nil {
		// An enrollment alone admits no node, but would make the next attempt fail.
		return "", "", errors.Join(err, os.Remove(enrollmentPath))
	}
	return tokenPath, enrollmentPath, nil
}

func createFile(path string, content []byte, mode os.FileMode) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(path)))
	}
	return nil
}
