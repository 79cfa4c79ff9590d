package api

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// What generators of clients need of a description. make test-long SUITE=clients runs three of them.

func TestEveryTypeOfTheDescriptionHasOneName(t *testing.T) {
	t.Parallel()
	doc := description(t)
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas {
		for _, part := range s.(map[string]any) {
			wantNames(t, name, part, schemas)
		}
	}
	wantNames(t, "paths", doc["paths"], schemas)
	lower := map[string]string{}
	for name := range schemas {
		if other, taken := lower[strings.ToLower(name)]; taken {
			t.Errorf("the types %s and %s differ in capitals only", name, other)
		}
		lower[strings.ToLower(name)] = name
	}
}

// wantNames reports enumerations and objects without a name, and references to nothing.
func wantNames(t *testing.T, at string, node any, schemas map[string]any) {
	t.Helper()
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			wantNames(t, at, child, schemas)
		}
	case map[string]any:
		if node["type"] == "string" && node["enum"] != nil || node["type"] == "object" && node["properties"] != nil {
			t.Errorf("%s is a type without a name: %v", at, node)
		}
		if ref, ok := node["$ref"].(string); ok && schemas[strings.TrimPrefix(ref, schemaPrefix)] == nil {
			t.Errorf("%s refers to %s, which does not exist", at, ref)
		}
		for name, child := range node {
			wantNames(t, at+"."+name, child, schemas)
		}
	}
}

func TestEveryRequestIsThatOfOneOperation(t *testing.T) {
	t.Parallel()
	paths := description(t)["paths"].(map[string]any)
	ids := map[string]string{}
	for path, item := range paths {
		for method, op := range item.(map[string]any) {
			id, _ := op.(map[string]any)["operationId"].(string)
			if other, taken := ids[id]; id == "" || taken {
				t.Errorf("%s %s is called %q, as is %q", method, path, id, other)
			}
			ids[id] = method + " " + path
		}
	}
	all := slices.Sorted(maps.Keys(paths))
	for i, a := range all {
		for _, b := range all[i+1:] {
			for method := range paths[a].(map[string]any) {
				if paths[b].(map[string]any)[method] != nil && overlap(a, b) {
					t.Errorf("a %s may be for %s or for %s", method, a, b)
				}
			}
		}
	}
}

// overlap reports whether a path fits both templates, and neither is the more specific one.
func overlap(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) {
		return false
	}
	var wider, narrower bool
	for i := range as {
		anyA, anyB := strings.HasPrefix(as[i], "{"), strings.HasPrefix(bs[i], "{")
		if !anyA && !anyB && as[i] != bs[i] {
			return false
		}
		if anyA != anyB && (as[i] == "{id}" || bs[i] == "{id}") {
			return false // an id is a UUID, and no word of a path
		}
		wider, narrower = wider || anyA && !anyB, narrower || anyB && !anyA
	}
	return wider == narrower
}

func TestNumbersAreDescribedAsNumbers(t *testing.T) {
	t.Parallel()
	s := schemaAt(t, description(t), "paths", "/api/video/{id}/private/{expirationSeconds}", "get", "parameters", "1", "schema")
	for value, want := range map[any]bool{1: true, maxExpirationSeconds: true, 0: false, maxExpirationSeconds + 1: false, "60": false, 1.5: false} {
		if err := s.Validate(value); (err == nil) != want {
			t.Errorf("expirationSeconds %v: %v", value, err)
		}
	}
}
