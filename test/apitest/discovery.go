// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// discover returns the document about the API at a path, nil if it is not one of the API.
func (s *Server) discover(path string) any {
	switch path {
	case "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
		for _, version := range s.versions {
			if version.Group != "" {
				list.Groups = append(list.Groups, groupOf(version))
			}
		}
		return list
	}
	for _, version := range s.versions {
		switch path {
		case "/apis/" + version.Group:
			return groupOf(version)
		case versionPath(version):
			return s.resources(version)
		}
	}
	return nil
}

func groupOf(version schema.GroupVersion) metav1.APIGroup {
	one := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: version.Group,
		Versions: []metav1.GroupVersionForDiscovery{one}, PreferredVersion: one,
	}
}

func (s *Server) resources(version schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version.String(),
	}
	names := kinds[version.String()]
	for kind := range strings.FieldsSeq(names[0] + " " + names[1]) {
		plural, singular := meta.UnsafeGuessKindToResource(version.WithKind(kind))
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: plural.Resource, SingularName: singular.Resource, Kind: kind,
			Namespaced: slices.Contains(strings.Fields(names[0]), kind), Verbs: []string{"get", "list"},
		})
	}
	return list
}

// target contains the object or the objects of a request.
type target struct {
	kind              schema.GroupVersionKind
	resource          schema.GroupResource
	path              string // of the object, or of all objects
	name, subresource string // "" for none
}

// parse returns what a path names. It returns false if the server has no such kind.
func (s *Server) parse(path string) (target, bool) {
	for _, version := range s.versions {
		rest, isOfVersion := strings.CutPrefix(path, versionPath(version)+"/")
		if !isOfVersion {
			continue
		}
		words := strings.Split(rest, "/")
		if len(words) > 2 && words[0] == "namespaces" {
			words = words[2:]
		}
		resource := version.WithResource(words[0])
		kind, err := s.mapper.KindFor(resource)
		to := target{kind: kind, resource: resource.GroupResource(), path: path}
		if len(words) > 1 {
			to.name = words[1]
		}
		if len(words) > 2 {
			to.subresource = words[2]
			to.path = strings.TrimSuffix(path, "/"+to.subresource)
		}
		return to, err == nil
	}
	return target{}, false
}
