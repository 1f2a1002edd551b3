// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// setDefault makes the deployment the first in the boot order. The others keep their order.
func setDefault(first deployment) error {
	list, err := deployments() // the index may have changed
	if err != nil {
		return err
	}
	for _, d := range list {
		switch {
		case d.name() != first.name():
		case d.index == 0:
			return nil
		default:
			return admin("set-default", strconv.Itoa(d.index))
		}
	}
	return fmt.Errorf("deployment %s does not exist", first.name())
}

// remove removes a deployment.
func remove(d deployment) error {
	if d.staged {
		if err := os.Remove(stagedKargs); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return admin("undeploy", strconv.Itoa(d.index))
}

func removeStaged(r roles) error {
	if r.staged == nil {
		return nil
	}
	return remove(*r.staged)
}
