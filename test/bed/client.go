package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Switchboard is the client of a control plane's admin endpoint.
type Switchboard struct {
	url string
}

// NewSwitchboard is the client for the adminURL of a document, for control
// planes that another process runs.
func NewSwitchboard(adminURL string) Switchboard { return Switchboard{url: adminURL} }

// State is what the ignition server has seen, and how it is set.
func (s Switchboard) State(ctx context.Context) (State, error) {
	var state State
	body, err := s.do(ctx, http.MethodGet, "/state", nil)
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return state, fmt.Errorf("decoding the switchboard's state: %w", err)
	}
	return state, nil
}

// CurrentStub is a user-data stub with the current token.
func (s Switchboard) CurrentStub(ctx context.Context) ([]byte, error) {
	return s.do(ctx, http.MethodGet, "/stub", nil)
}

// SetFaults replaces the faults; the zero value takes them all back.
func (s Switchboard) SetFaults(ctx context.Context, faults Faults) error {
	return s.put(ctx, "/faults", faults)
}

// RotateToken makes a new token. The one before stays good until the next
// rotation, as HyperShift's.
func (s Switchboard) RotateToken(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/token/rotate", nil)
	return err
}

// ExpireTokens makes every token so far bad; there is a new one.
func (s Switchboard) ExpireTokens(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/token/expire", nil)
	return err
}

// DeleteTokens makes every token bad, and there is no new one.
func (s Switchboard) DeleteTokens(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/token/delete", nil)
	return err
}

// ReplacePayload makes the ignition server serve another payload. One that is
// no Ignition makes it answer 500, as the real one.
func (s Switchboard) ReplacePayload(ctx context.Context, payload []byte) error {
	_, err := s.do(ctx, http.MethodPut, "/payload", payload)
	return err
}

// ReplacePayloadUnchecked serves whatever bytes these are.
func (s Switchboard) ReplacePayloadUnchecked(ctx context.Context, payload []byte) error {
	_, err := s.do(ctx, http.MethodPut, "/payload?unchecked", payload)
	return err
}

// SetNetwork deploys the network operator's stand-in or removes it. A node that
// starts without it does not get Ready, for want of a CNI configuration; one
// that is Ready stays so until its CRI-O starts again.
func (s Switchboard) SetNetwork(ctx context.Context, deployed bool) error {
	return s.put(ctx, "/network", Network{Deployed: deployed})
}

// Reset takes back faults and payload, makes a token if there is none and
// deploys the network. It keeps tokens, log and counters.
func (s Switchboard) Reset(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/reset", nil)
	return err
}

func (s Switchboard) put(ctx context.Context, path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a request to the switchboard: %w", err)
	}
	_, err = s.do(ctx, http.MethodPut, path, body)
	return err
}

func (s Switchboard) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking the switchboard: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the switchboard: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the switchboard's answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the switchboard answered %s to %s %s: %s", response.Status, method, path, strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
