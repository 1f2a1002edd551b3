// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestApprovalStats(t *testing.T) {
	csrs := schema.GroupResource{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}
	forbidden := func(name string) error {
		return fmt.Errorf("approving CSR %s: %w", name, apierrors.NewForbidden(csrs, name, errors.New("no")))
	}
	broken := apierrors.NewInternalError(errors.New("a webhook does not answer"))
	for name, test := range map[string]struct {
		counters  approvalStats
		forbidden string
	}{
		"nothing to do": {approvalStats{}, ""},
		"all went well": {approvalStats{attempted: 2}, ""},
		"one forbidden": {approvalStats{attempted: 2, failures: []error{forbidden("b")}}, ""},
		"all forbidden": {
			approvalStats{attempted: 2, failures: []error{forbidden("b"), forbidden("a")}}, "approving CSR a: ",
		},
		"two ways": {approvalStats{attempted: 2, failures: []error{forbidden("b"), broken}}, ""},
	} {
		err := test.counters.allForbidden()
		if (err != nil) != (test.forbidden != "") || (err != nil && !strings.HasPrefix(err.Error(), test.forbidden)) {
			t.Errorf("%s: %v", name, err)
		}
		if (test.counters.combinedError() != nil) != (len(test.counters.failures) > 0) {
			t.Errorf("%s: %v", name, test.counters.combinedError())
		}
	}
	many := approvalStats{attempted: 9, failures: []error{broken, broken, broken, broken, broken}}
	if err := many.combinedError(); !strings.HasSuffix(err.Error(), "and 2 more") || !apierrors.IsInternalError(err) {
		t.Errorf("%v", err)
	}
	for name, test := range map[string]struct {
		err  error
		gone bool
	}{
		"no connection": {errors.New("connection refused"), true},
		"no answer":     {context.DeadlineExceeded, true},
		"credential":    {apierrors.NewUnauthorized("no"), true},
		"overloaded":    {apierrors.NewTooManyRequestsError("later"), true},
		"starting": {
			apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "update", csrs, "", "", 0, true), true,
		},
		"a right":          {forbidden("a"), false},
		"a webhook":        {broken, false},
		"not valid":        {apierrors.NewBadRequest("no"), false},
		"a rule's refusal": {apierrors.NewInvalid(schema.GroupKind{}, "a", nil), false},
	} {
		if affectsAllCSRs(test.err) != test.gone {
			t.Errorf("%s: gone is %t", name, !test.gone)
		}
	}
}
