package ovs

import (
	"encoding/json"
	"fmt"
	"os"
	"path"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// Backup is how the uplink was before br-ex: all that the way back needs. It
// is what the ledger keeps as the state before, and what the journal holds.
type Backup struct {
	Uplink   string                  `json:"uplink"`
	UUID     string                  `json:"uuid,omitempty"` // of the profile that was in use
	ID       string                  `json:"id,omitempty"`
	Settings networkmanager.Settings `json:"settings,omitempty"` // without secrets
	Volatile  bool                    `json:"passing,omitempty"`  // NetworkManager made it up; it is not on disk
	IPv4     networkmanager.IP       `json:"ipv4"`
	IPv6     networkmanager.IP       `json:"ipv6"`
	State  AddressState                 `json:"carried"`
	Members  []Member                `json:"members,omitempty"` // of a bond
	InPlace  bool                    `json:"inPlace,omitempty"` // it keeps its profile until the next boot: see keepsProfile
	OwnUUIDs     map[string]string       `json:"ours,omitempty"`    // UUIDs of our profiles by name

	Checkpoint networkmanager.Checkpoint `json:"checkpoint,omitempty"` // NetworkManager's, of a move under way
	Undoing    bool                      `json:"leaving,omitempty"`    // under way is the way back of a br-ex that was finished
}

// OwnProfiles picks our own profiles.
func (o Backup) OwnProfiles(profiles []networkmanager.Profile) []networkmanager.Profile {
	var ours []networkmanager.Profile
	for _, profile := range profiles {
		if uuid, named := o.OwnUUIDs[profile.ID()]; named && uuid == profile.UUID() {
			ours = append(ours, profile)
		}
	}
	return ours
}

func (o Backup) Encode() (string, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encoding the state of the uplink: %w", err)
	}
	return string(content), nil
}

func DecodeBackup(value string) (Backup, error) {
	var o Backup
	if err := json.Unmarshal([]byte(value), &o); err != nil {
		return o, fmt.Errorf("decoding the state of the uplink: %w", err)
	}
	return o, nil
}

// pendingFile is a file that is there from before the first change of a move until
// the move is verified and saved. Its removal is what makes a move count: as
// long as it is there, the timer, the boot unit and the next run all go back
// to the origin that it holds.
type pendingFile struct {
	tree *host.Tree
	dir  string
}

func (j pendingFile) path() string { return path.Join(j.dir, "network-move.json") }

// read gives the origin of an unfinished move.
func (j pendingFile) read() (Backup, bool, error) {
	exists, err := j.tree.Exists(j.path())
	if err != nil || !exists {
		return Backup{}, false, err
	}
	content, _, err := j.tree.ReadFile(j.path())
	if err != nil {
		return Backup{}, false, err
	}
	origin, err := DecodeBackup(string(content))
	return origin, err == nil, err
}

// open makes the journal and the boot unit durable; nothing is changed before.
func (j pendingFile) open(o Backup) error {
	content, err := o.Encode()
	if err != nil {
		return err
	}
	if err := j.tree.MkdirAll(path.Dir(bootUnitLink)); err != nil {
		return err
	}
	owned := func(mode uint32) host.Attr {
		return host.Attr{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
	}
	batch := j.tree.NewBatch()
	defer batch.Abort()
	if err := batch.Stage(bootUnitPath, []byte(bootRollbackUnit(j.path(), o)), owned(0o644)); err != nil {
		return err
	}
	if err := batch.Stage(j.path(), []byte(content+"\n"), owned(0o600)); err != nil {
		return err
	}
	if err := j.tree.Symlink(bootUnitPath, bootUnitLink, owned(0)); err != nil {
		return err
	}
	return batch.Commit()
}

// close makes the present state of the network count.
func (j pendingFile) close() error {
	if err := j.tree.Remove(j.path()); err != nil {
		return err
	}
	if err := j.tree.SyncDir(j.dir); err != nil {
		return err
	}
	if err := j.tree.Remove(bootUnitLink); err != nil {
		return err
	}
	return j.tree.Remove(bootUnitPath)
}
