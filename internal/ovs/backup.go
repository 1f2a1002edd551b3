package ovs

import (
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// Backup is how the uplink was before br-ex: all that the way back needs. It
// is what the ledger keeps as the state before, and what the journal holds.
type Backup struct {
	Uplink   string                  `json:"uplink"`
	UUID     string                  `json:"uuid,omitempty"` // of the profile that was in use
	ID       string                  `json:"id,omitempty"`
	Settings networkmanager.Settings `json:"settings,omitempty"` // without secrets
	Volatile bool                    `json:"passing,omitempty"`  // NetworkManager made it up; it is not on disk
	IPv4     networkmanager.IP       `json:"ipv4"`
	IPv6     networkmanager.IP       `json:"ipv6"`
	State    AddressState            `json:"carried"`
	Members  []Member                `json:"members,omitempty"` // of a bond
	InPlace  bool                    `json:"inPlace,omitempty"` // it keeps its profile until the next boot: see keepsProfile
	OwnUUIDs map[string]string       `json:"ours,omitempty"`    // UUIDs of our profiles by name

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

// Encode returns the backup as JSON.
func (o Backup) Encode() (string, error) {
	content, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encoding the state of the uplink: %w", err)
	}
	return string(content), nil
}

// DecodeBackup parses what Encode returned.
func DecodeBackup(value string) (Backup, error) {
	var o Backup
	if err := json.Unmarshal([]byte(value), &o); err != nil {
		return o, fmt.Errorf("decoding the state of the uplink: %w", err)
	}
	return o, nil
}
