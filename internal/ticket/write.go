package ticket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write puts a ticket and its claim into a directory, NAME.ticket readable by
// its owner alone. A directory that does not exist is created, for its owner alone.
// A file that is there already is never touched: it could be the only copy of a
// ticket that a host waits with. It gives the two paths.
func Write(dir string, t *Ticket, c *Claim) (ticketPath, claimPath string, err error) {
	secret, err := t.Encode()
	if err != nil {
		return "", "", err
	}
	public, err := c.Encode()
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", fmt.Errorf("creating the directory: %w", err)
	}
	ticketPath, claimPath = filepath.Join(dir, t.NodeName+TicketSuffix), filepath.Join(dir, c.NodeName+ClaimSuffix)
	if err := create(claimPath, public, 0o644); err != nil {
		return "", "", err
	}
	if err := create(ticketPath, secret, 0o600); err != nil {
		// A claim alone lets nobody in, but would be in the way next time.
		return "", "", errors.Join(err, os.Remove(claimPath))
	}
	return ticketPath, claimPath, nil
}

func create(path string, content []byte, mode os.FileMode) (err error) {
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
