package resolve

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// reference is a resource of a config, and what it is there for.
type reference struct {
	what     string
	resource *types.Resource

	file     string // the path of the file that it is a content of, "" for none
	addition bool   // appended to the file
}

// need is what a reference stands for, as "file /etc/a at https://host/a".
func (r reference) need() string { return r.what + " at " + Place(*r.resource.Source) }

// remote tells that the network has to be asked for it.
func (r reference) remote() bool {
	return r.resource.Source != nil && *r.resource.Source != "" && scheme(*r.resource.Source) != "data"
}

// contents are what the entries of a config are made of.
func contents(config *types.Config) []reference {
	var list []reference
	for i := range config.Storage.Files {
		file := &config.Storage.Files[i]
		list = append(list, reference{what: "file " + file.Path, resource: &file.Contents, file: file.Path})
		for j := range file.Append {
			list = append(list, reference{
				what: fmt.Sprintf("addition %d to file %s", j+1, file.Path), resource: &file.Append[j], file: file.Path, addition: true,
			})
		}
	}
	for i := range config.Storage.Luks {
		luks := &config.Storage.Luks[i]
		list = append(list, reference{what: "key file of encrypted disk " + luks.Name, resource: &luks.KeyFile})
	}
	return list
}

// nested are the other configs that one refers to. A replacement makes the
// rest of the config void.
func nested(ignition *types.Ignition) []reference {
	if ignition.Config.Replace.Source != nil {
		return []reference{{what: "the config that replaces it", resource: &ignition.Config.Replace}}
	}
	var list []reference
	for i := range ignition.Config.Merge {
		list = append(list, reference{what: fmt.Sprintf("merged config %d", i+1), resource: &ignition.Config.Merge[i]})
	}
	return list
}

func authorities(ignition *types.Ignition) []reference {
	var list []reference
	for i := range ignition.Security.TLS.CertificateAuthorities {
		list = append(list, reference{what: fmt.Sprintf("certificate authority %d", i+1), resource: &ignition.Security.TLS.CertificateAuthorities[i]})
	}
	return list
}

// unsupported names what of the references could never be had.
func unsupported(list []reference) []string {
	var problems []string
	for _, r := range list {
		if problem := r.unsupported(); problem != "" {
			problems = append(problems, r.what+" "+problem)
		}
	}
	return problems
}

func (r reference) unsupported() string {
	if !r.remote() {
		return ""
	}
	source, err := url.Parse(*r.resource.Source)
	switch {
	case err != nil:
		return "is at a URL that cannot be read"
	case source.Scheme != "http" && source.Scheme != "https":
		return fmt.Sprintf("is to come by %s, from %s; possible are data, http and https", source.Scheme, place(source))
	case source.Hostname() == "":
		return fmt.Sprintf("is at %s, which names no host", place(source))
	}
	return ""
}

// headers of the request for it. Those of the config replace the default ones
// of the same name, the last of several of one name wins.
func (r reference) headers() (http.Header, error) {
	headers := http.Header{
		"Accept":          {accept},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {userAgent},
	}
	for _, header := range r.resource.HTTPHeaders {
		if header.Value == nil {
			// In a merge it takes the parent's header away. Where there is none
			// to take, Ignition fails too.
			return nil, fmt.Errorf("its header %q has no value", header.Name)
		}
		headers.Set(header.Name, *header.Value)
	}
	return headers, nil
}
