// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// ServeHTTP handles a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if s.Before != nil {
		if err := s.Before(request); err != nil {
			respond(w, nil, err)
			return
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if document := s.discover(request.URL.Path); document != nil {
		respond(w, document, nil)
		return
	}
	to, isServed := s.parse(request.URL.Path)
	if !isServed {
		http.NotFound(w, request)
		return
	}
	document, err := s.handle(to, request)
	respond(w, document, err)
}

func respond(w http.ResponseWriter, document any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var known apierrors.APIStatus
		if !errors.As(err, &known) {
			known = apierrors.NewBadRequest(err.Error())
		}
		status := known.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(status.Code))
		document = status
	}
	_ = json.NewEncoder(w).Encode(document) // it fails if the client has closed the connection
}

// handle returns the response to a request for objects.
func (s *Server) handle(to target, request *http.Request) (any, error) {
	body, err := readBody(request)
	if err != nil {
		return nil, err
	}
	isApply := request.Header.Get("Content-Type") == string(types.ApplyPatchType)
	if to.name != "" && s.objects[to.path] == nil && !isApply {
		return nil, apierrors.NewNotFound(to.resource, to.name)
	}
	isDryRun := request.URL.Query().Get("dryRun") != ""
	switch request.Method {
	case http.MethodGet:
		return s.read(to, request)
	case http.MethodPost:
		if to.subresource == "token" {
			return issueToken(body)
		}
		if status := reviewed(to.kind.Kind); status != nil {
			body["status"] = status
			return body, nil
		}
		return s.create(to, body)
	case http.MethodDelete:
		return metav1.Status{Status: metav1.StatusSuccess}, s.delete(to, body, isDryRun)
	case http.MethodPatch:
		if body, err = s.merge(to, body); err != nil {
			return nil, err
		}
	}
	return s.replace(to, body, isDryRun)
}

// read returns an object or a list, as a table if that is requested.
func (s *Server) read(to target, request *http.Request) (any, error) {
	all := []*unstructured.Unstructured{s.objects[to.path]}
	if to.name == "" {
		var err error
		if all, err = s.list(to.path, request.URL.Query()); err != nil {
			return nil, err
		}
	}
	if strings.Contains(request.Header.Get("Accept"), "as=Table") {
		return tableOf(all), nil
	}
	if to.name != "" {
		return all[0], nil
	}
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{}}
	list.SetGroupVersionKind(to.kind.GroupVersion().WithKind(to.kind.Kind + "List"))
	for _, object := range all {
		list.Items = append(list.Items, *object)
	}
	return list, nil
}

// list returns the selected objects below a path, sorted.
func (s *Server) list(path string, query url.Values) ([]*unstructured.Unstructured, error) {
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	selected, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		object := s.objects[name]
		involved, _, _ := unstructured.NestedString(object.Object, "involvedObject", "name")
		signer, _, _ := unstructured.NestedString(object.Object, "spec", "signerName")
		source, _, _ := unstructured.NestedString(object.Object, "reportingComponent")
		node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
		set := fields.Set{
			"reportingComponent": source, "spec.nodeName": node,
			"metadata.name": object.GetName(), "involvedObject.name": involved, "spec.signerName": signer,
		}
		if isBelow(name, path) && selector.Matches(labels.Set(object.GetLabels())) && selected.Matches(set) {
			all = append(all, object)
		}
	}
	return all, nil
}

// isBelow reports whether the list at a path contains the object with a name, also that of all namespaces.
func isBelow(name, path string) bool {
	before, after, _ := strings.Cut(name, "/namespaces/")
	_, after, _ = strings.Cut(after, "/")
	return strings.HasPrefix(name, path+"/") || strings.HasPrefix(before+"/"+after, path+"/")
}

// tableOf returns a table with the names and the phases of objects.
func tableOf(objects []*unstructured.Unstructured) metav1.Table {
	table := metav1.Table{
		TypeMeta:          metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "Table"},
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Phase"}},
	}
	for _, object := range objects {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells: []any{object.GetName(), phase}, Object: runtime.RawExtension{Object: object},
		})
	}
	return table
}

func (s *Server) create(to target, body map[string]any) (any, error) {
	object := &unstructured.Unstructured{Object: body}
	path := to.path + "/" + object.GetName()
	if s.objects[path] != nil {
		return nil, apierrors.NewAlreadyExists(to.resource, object.GetName())
	}
	delete(body, "status")
	s.store(path, object)
	return object, nil
}

// issueToken returns the response to the request for a token of a ServiceAccount.
func issueToken(body map[string]any) (any, error) {
	var request authenticationv1.TokenRequest
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body, &request); err != nil {
		return nil, err
	}
	request.Status = authenticationv1.TokenRequestStatus{
		Token:               "token",
		ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Duration(*request.Spec.ExpirationSeconds) * time.Second)),
	}
	return request, nil
}

func (s *Server) delete(to target, body map[string]any, isDryRun bool) error {
	var options metav1.DeleteOptions
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body, &options); err != nil {
		return err
	}
	stored := s.objects[to.path]
	if read := options.Preconditions; read != nil && (read.UID != nil && *read.UID != stored.GetUID() ||
		read.ResourceVersion != nil && *read.ResourceVersion != stored.GetResourceVersion()) {
		return conflict(to)
	}
	if !isDryRun && len(options.DryRun) == 0 {
		delete(s.objects, to.path)
	}
	return nil
}

func conflict(to target) error {
	return apierrors.NewConflict(to.resource, to.name, errors.New("it was changed"))
}

// merge returns an object with a patch. All patches are merge patches, also those of server-side apply.
func (s *Server) merge(to target, patch map[string]any) (map[string]any, error) {
	before := []byte("{}")
	var err error
	if stored := s.objects[to.path]; stored != nil {
		if before, err = stored.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, encoded)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	err = utiljson.Unmarshal(after, &object)
	return object, err
}

// replace stores another version of an object, or a new object.
func (s *Server) replace(to target, body map[string]any, isDryRun bool) (any, error) {
	object := &unstructured.Unstructured{Object: body}
	stored := s.objects[to.path]
	if stored != nil {
		if version := object.GetResourceVersion(); version != "" && version != stored.GetResourceVersion() {
			return nil, conflict(to)
		}
		status := stored.Object["status"]
		if to.subresource == "status" {
			status = body["status"]
			object = stored.DeepCopy()
		}
		object.SetUID(stored.GetUID())
		object.SetResourceVersion(stored.GetResourceVersion())
		if status != nil {
			object.Object["status"] = status
		}
	}
	if isDryRun || stored != nil && reflect.DeepEqual(object, stored) {
		return object, nil
	}
	s.store(to.path, object)
	return object, nil
}

// readBody decodes the body of a request, which is JSON, YAML or protobuf.
func readBody(request *http.Request) (map[string]any, error) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if !bytes.HasPrefix(content, []byte("k8s\x00")) {
		if content, err = yaml.YAMLToJSON(content); err != nil {
			return nil, err
		}
		err = utiljson.Unmarshal(content, &body)
		return body, err
	}
	object, kind, err := clientscheme.Codecs.UniversalDeserializer().Decode(content, nil, nil)
	if err != nil {
		return nil, err
	}
	if body, err = runtime.DefaultUnstructuredConverter.ToUnstructured(object); err != nil {
		return nil, err
	}
	body["apiVersion"], body["kind"] = kind.GroupVersion().String(), kind.Kind
	return body, nil
}
