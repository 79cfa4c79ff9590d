// Package spdx tells from the text of a licence which one it is.
package spdx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// marks are words that only one licence has, without what differs between copies of it: lines, quotes, names.
var marks = []struct {
	id    string
	words *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,? Version 2\.0`)},
	{"MPL-2.0", regexp.MustCompile(`^Mozilla Public License Version 2\.0`)},
	{"MIT", regexp.MustCompile(`(?i)Permission is hereby granted, free of charge, .* to deal in the Software without restriction, .* The above copyright notice and this permission notice shall be included`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms, with or without modification, are permitted .* [Nn]either the names? of `)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms, with or without modification, are permitted`)},
}

var header = regexp.MustCompile(`SPDX-License-Identifier: ([A-Za-z0-9 .()+-]+?)(?: \*/|$)`)

// Expression returns the SPDX expression of a text, which may hold several licences.
func Expression(text string) (string, error) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if m := header.FindStringSubmatch(first); m != nil {
		return m[1], nil
	}
	words := strings.Join(strings.Fields(text), " ")
	var ids []string
	for _, mark := range marks {
		if !mark.words.MatchString(words) || mark.id == "BSD-2-Clause" && strings.Contains(strings.Join(ids, " "), "BSD-3-Clause") {
			continue
		}
		ids = append(ids, mark.id)
	}
	if len(ids) == 0 {
		return "", errors.New("nobody knows this licence: look whether we may use it, and add it to tools/release/spdx")
	}
	return strings.Join(ids, " AND "), nil
}

// own is the name of a file with the licence of a project itself, not of what it contains of others.
var own = regexp.MustCompile(`(?i)^(licen[cs]e|copying|[a-z-]+\.licen[cs]e)(\.(txt|md))?$`)

// OfFiles returns the expression of the licence that a project has, among all the files with licences in it.
func OfFiles(paths []string) (string, error) {
	for _, path := range paths {
		if !own.MatchString(filepath.Base(path)) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		id, err := Expression(string(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		return id, nil
	}
	return "", fmt.Errorf("none of %q is the licence", paths)
}
